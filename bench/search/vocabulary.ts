// The words that names and summaries are made of: a few languages, common ones first, and rare ones without end.

import { below, createRandom, createWeighted, pick, type Random } from './random.ts';

const words = (text: string): string[] => text.split(' ');

export const LANGUAGES = {
  en: words(
    'report invoice contract manual minutes budget project meeting customer delivery order offer plan review ' +
      'policy draft final summary quarter annual product service training safety quality supplier pump valve ' +
      'network security migration payroll insurance audit inventory warehouse maintenance schedule agreement ' +
      'proposal specification drawing certificate statement forecast strategy recruitment travel expense research',
  ),
  de: words(
    'bericht rechnung vertrag handbuch protokoll angebot projekt lieferung auftrag prüfung übersicht entwurf ' +
      'kündigung schulung sicherheit qualität lieferant pumpe ventil netzwerk lohn versicherung lager wartung ' +
      'zeitplan vereinbarung zeichnung bescheinigung prognose strategie reise spesen forschung maßnahme ' +
      'änderung gebäude straße größe kosten kunde betrieb anlage störung freigabe abnahme messung unterlage',
  ),
  fr: words(
    'rapport facture contrat manuel budget projet réunion client livraison commande offre plan révision ' +
      'politique brouillon résumé trimestre annuel produit formation sécurité qualité fournisseur pompe vanne ' +
      'réseau paie assurance inventaire entrepôt entretien calendrier accord proposition dessin certificat ' +
      'prévision stratégie voyage dépense recherche été hôtel élève société mémoire décision garantie',
  ),
  es: words(
    'informe factura contrato acta presupuesto proyecto reunión cliente entrega pedido oferta revisión ' +
      'política borrador resumen trimestre anual producto servicio formación seguridad calidad proveedor bomba ' +
      'válvula red nómina seguro inventario almacén mantenimiento calendario acuerdo propuesta plano ' +
      'certificado previsión estrategia viaje gasto investigación año niño señal montaña cuaderno pregunta',
  ),
  ru: words(
    'отчёт счёт договор руководство протокол бюджет проект встреча клиент поставка заказ план проверка ' +
      'политика черновик итог квартал продукт услуга обучение безопасность качество поставщик насос клапан ' +
      'сеть зарплата страхование склад обслуживание график соглашение чертёж справка прогноз стратегия ' +
      'поездка расход исследование решение здание улица работа система данные память ответ вопрос',
  ),
} as const satisfies Record<string, readonly string[]>;

export type Language = keyof typeof LANGUAGES;

const NAMES = Object.keys(LANGUAGES) as Language[];
const pickLanguage = createWeighted([50, 22, 12, 10, 6]);
export const chooseLanguage = (random: Random): Language => NAMES[pickLanguage(random)] ?? 'en';

/** The n-th word is about 1/n as frequent as the first. */
const pickRank = createWeighted(Array.from({ length: 44 }, (_, rank) => 1 / (rank + 3)));

const RARE_SHARE = 0.06;
const COMPOUND_SHARE = 0.2;
const RARE_WORDS = 200_000;
const ONSETS = words('b br ch d dr f fl g gr h j k kl l m n p pr qu r s sch st t tr v w z');
const VOWELS = words('a e i o u ai ei ou ia eo');

/** One of 200,000 that no language has: it is in a handful of documents of a million. */
const rareWord = (random: Random): string => spell(below(random, RARE_WORDS));

/** A word that no language has, the same for each rank. */
export function spell(rank: number): string {
  const random = createRandom(rank);
  const syllable = () => pick(random, ONSETS) + pick(random, VOWELS);
  return `${syllable()}${syllable()}${syllable()}${random() < 0.5 ? syllable() : 'n'}`;
}

/** A word of running text: common ones mostly, compounds of two of them, and a few rare ones. */
export function chooseWord(random: Random, language: Language): string {
  const list: readonly string[] = LANGUAGES[language];
  const chance = random();
  if (chance < RARE_SHARE) return rareWord(random);
  const word = list[pickRank(random)] ?? pick(random, list);
  return chance < RARE_SHARE + COMPOUND_SHARE ? word + pick(random, list) : word;
}
