import type { Topics } from './topics.ts';

export const turkish: Topics = [
  {
    query: 'ödenmemiş fatura için hatırlatma ne zaman gönderilir',
    documents: [
      'Faturanın vadesinden on dört gün sonra bir hatırlatma gönderilir.',
      'İki ay boyunca ödenmeyen faturalar tahsilat şirketine devredilir.',
      'Geciken ödemelere yüzde beş faiz uygulanır.',
    ],
  },
  {
    query: 'çalışanların kaç gün izni var',
    documents: [
      'Her çalışanın yılda otuz gün izin hakkı vardır.',
      'Kullanılmayan izinler mart ayında silinir, yönetici aksine karar vermedikçe.',
      'Tatil talepleri personel takvimine girilir.',
    ],
  },
  {
    query: 'dizüstü bilgisayarın pilini değiştirmek',
    documents: [
      'Atölye dizüstü bilgisayarların pilini iki günde değiştirir.',
      'Pil değişimi: önce alttaki altı vidayı sökün.',
      'Artık şarj olmayan cihazlar servise götürülmelidir.',
    ],
  },
  {
    query: 'unutulan parolayı sıfırlama',
    documents: [
      'Parolanızı unuttuysanız giriş formunun altındaki bağlantıya basın.',
      'Yöneticiler parolaları kullanıcı listesinden sıfırlar.',
      'Telefonunuza gelen kodla giriş yapın ve yeni bilgilerinizi seçin.',
    ],
  },
  {
    query: 'kahve makinesinin temizliği',
    documents: [
      'Kahve makinesi her akşam dolaptaki tabletle temizlenir.',
      'Makinenin kireci ayda bir kez çözülür.',
      'Süt kabı kullanıldıktan sonra sıcak suyla yıkanır.',
    ],
  },
  {
    query: 'geciken tren için para iadesi',
    documents: [
      'Tren bir saat gecikirse bilet ücretinin dörtte biri iade edilir.',
      'Trenlerin gecikmeleri istasyonda ve uygulamada duyurulur.',
      'Yolculara tazminat dört hafta içinde yatırılır.',
    ],
  },
  {
    query: 'grip aşısı randevusu',
    documents: [
      'Grip aşısı için randevular ekimden itibaren alınabilir.',
      'İş yeri hekimi salı günleri dokuzla on iki arasında aşı yapar.',
      'Kışın virüs yayılır; yaşlılar zamanında korunmalıdır.',
    ],
  },
  {
    query: 'kira sözleşmesini feshetmek',
    documents: [
      'Kira sözleşmesi üç ay önceden bildirilerek feshedilebilir.',
      'Fesih bildirimi elle imzalanıp postayla gönderilmelidir.',
      'Oturanlar anahtarları son gün teslim eder.',
    ],
  },
  {
    query: 'bahçedeki domatesleri sulamak',
    documents: [
      'Domatesler çok su ister: yazın bahçe günde iki kez sulanır.',
      'Bitkileri sabahları ve yalnızca kökünden sulayın.',
      'Güneşli bir yer ve verimli toprak sebzeleri büyütür.',
    ],
  },
  {
    query: 'toplantı tutanağını kim yazar',
    documents: [
      'Toplantının tutanağını en genç katılımcı yazar.',
      'Tutanaklar toplantıdan bir gün sonra herkese gönderilir.',
      'Ekibin kararları ortak klasörde saklanır.',
    ],
  },
  {
    query: 'kalorifer ısınmıyor',
    documents: [
      'Kalorifer soğuk kalıyorsa önce peteğin havasını alın.',
      'Kapıcı kaloriferi ekimin ilk haftasında yakar.',
      'Odaların sıcaklığı yirmi derecenin altına düşmemelidir.',
    ],
  },
  {
    query: 'ekşi mayalı ekmek pişirmek',
    documents: [
      'Ekşi mayalı ekmek bir saat pişer, ilk on dakika çok sıcak fırında.',
      'Pişirmeden önceki akşam ekşi mayayı un ve suyla besleyin.',
      'İyi bir somunun kabuğuna vurunca boş ses gelir.',
    ],
  },
];
