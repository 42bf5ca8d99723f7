import type { Topics } from './topics.ts';

export const french: Topics = [
  {
    query: 'Quand relance-t-on une facture impayée ?',
    documents: [
      "La relance est envoyée quatorze jours après l'échéance de la facture.",
      'Les factures impayées depuis deux mois sont confiées au recouvrement.',
      'Tout retard de paiement entraîne une majoration de cinq pour cent.',
    ],
  },
  {
    query: 'combien de jours de congé ont les salariés',
    documents: [
      'Chaque salarié dispose de trente jours de congés par an.',
      'Les congés non pris sont perdus en mars, sauf accord de la direction.',
      "Les demandes d'absence se font dans le calendrier du personnel.",
    ],
  },
  {
    query: "remplacer la batterie de l'ordinateur portable",
    documents: [
      "L'atelier remplace la batterie des ordinateurs portables en deux jours.",
      'Remplacement des batteries : retirer les six vis du dessous.',
      'Un appareil qui ne charge plus doit être porté au service technique.',
    ],
  },
  {
    query: 'réinitialiser un mot de passe oublié',
    documents: [
      'Si vous avez oublié votre mot de passe, cliquez sous le formulaire.',
      'Les administrateurs réinitialisent les mots de passe dans la liste des utilisateurs.',
      'Connectez-vous avec le code reçu par téléphone, puis changez vos identifiants.',
    ],
  },
  {
    query: 'nettoyage de la machine à café',
    documents: [
      'Nettoyer la machine à café chaque soir avec une pastille.',
      'Le détartrage et le nettoyage de la cafetière se font une fois par mois.',
      "Le pot à lait se rince à l'eau chaude après usage.",
    ],
  },
  {
    query: 'remboursement en cas de retard du train',
    documents: [
      "Au-delà d'une heure de retard, le quart du billet de train est remboursé.",
      'Les retards des trains sont annoncés en gare et dans l’application.',
      "L'indemnité des voyageurs est versée sous quatre semaines.",
    ],
  },
  {
    query: 'rendez-vous pour le vaccin contre la grippe',
    documents: [
      'Les rendez-vous de vaccination contre la grippe sont ouverts dès octobre.',
      'La médecin du travail vaccine le mardi entre neuf heures et midi.',
      'Le virus circule en hiver ; les personnes âgées doivent se protéger.',
    ],
  },
  {
    query: 'résilier un bail',
    documents: [
      'Le bail peut être résilié avec un préavis de trois mois.',
      'La résiliation doit être signée à la main et envoyée par la poste.',
      'Les locataires rendent les clés le dernier jour.',
    ],
  },
  {
    query: 'arroser les tomates du jardin',
    documents: [
      "Les tomates demandent beaucoup d'eau : en été on arrose deux fois par jour.",
      "L'arrosage du jardin se fait le matin, au pied des plantes.",
      'Une terre riche et du soleil font pousser les légumes.',
    ],
  },
  {
    query: 'qui rédige le compte rendu de la réunion',
    documents: [
      'Le compte rendu de réunion est rédigé par la plus jeune personne présente.',
      'Les comptes rendus sont envoyés à tous le lendemain.',
      "Les décisions de l'équipe sont conservées dans le dossier partagé.",
    ],
  },
  {
    query: 'le chauffage reste froid',
    documents: [
      "Si le chauffage reste froid, il faut d'abord purger le radiateur.",
      'Le gardien allume le chauffage la première semaine d’octobre.',
      'La température des bureaux ne doit pas descendre sous vingt degrés.',
    ],
  },
  {
    query: 'cuire du pain au levain',
    documents: [
      'Le pain au levain cuit une heure, les dix premières minutes à four très chaud.',
      'Nourrir le levain de farine et d’eau la veille de la cuisson.',
      'Une bonne miche sonne creux quand on tape sur la croûte.',
    ],
  },
];
