import type { Topics } from './topics.ts';

export const english: Topics = [
  {
    query: 'When do unpaid invoices get a reminder?',
    documents: [
      'A reminder is sent fourteen days after an invoice has become due.',
      'Invoices that stay unpaid for two months are handed to the collection agency.',
      'Late payment costs the customer an additional fee of five percent.',
    ],
  },
  {
    query: 'How many vacation days do employees have?',
    documents: [
      'Every employee has thirty days of vacation a year.',
      'Vacation that is not taken by March expires, unless the manager agrees otherwise.',
      'Requests for time off are entered in the staff calendar.',
    ],
  },
  {
    query: 'laptop battery replacement',
    documents: [
      'The battery of the laptop is replaced by the workshop within two days.',
      'Replacing batteries: remove the six screws on the bottom of the notebook.',
      'A computer that no longer charges should be brought to the service desk.',
    ],
  },
  {
    query: 'resetting a forgotten password',
    documents: [
      'If you have forgotten your password, press the link below the login form.',
      'Passwords can be reset by administrators in the user list.',
      'Sign in with the code that was sent to your phone, then choose new credentials.',
    ],
  },
  {
    query: 'cleaning the coffee machine',
    documents: [
      'Clean the coffee machine every evening with the tablets from the cupboard.',
      'Descale the espresso maker once a month; the machine shows when it is time.',
      'The milk container is rinsed with hot water after use.',
    ],
  },
  {
    query: 'refund for a delayed train',
    documents: [
      'Travellers get a refund of a quarter of the fare when the train is an hour late.',
      'Delays of trains are announced at the station and in the application.',
      'Compensation for tickets is paid within four weeks by the railway company.',
    ],
  },
  {
    query: 'flu vaccination appointment',
    documents: [
      'Appointments for the vaccination against flu can be made from October on.',
      'The company doctor vaccinates on Tuesdays between nine and twelve.',
      'Influenza spreads in winter; older people should be immunised in time.',
    ],
  },
  {
    query: 'terminating a rental contract',
    documents: [
      'The rental contract can be terminated with three months notice.',
      'A termination has to be signed by hand and sent by post.',
      'Tenants hand over the keys on the last day of the lease.',
    ],
  },
  {
    query: 'watering tomatoes in the garden',
    documents: [
      'Tomatoes need much water: in summer the garden is watered twice a day.',
      'Water the plants in the morning, and only at the roots.',
      'A bed in the sun, rich soil and a stick to hold them make vegetables grow.',
    ],
  },
  {
    query: 'who writes the minutes of the meeting',
    documents: [
      'The minutes of the meeting are written by its youngest participant.',
      'Minutes are sent to all participants on the day after a meeting.',
      'What the team has decided is kept in the shared folder.',
    ],
  },
  {
    query: 'heating does not get warm',
    documents: [
      'When the heating stays cold, let the air out of the radiator first.',
      'The heating is switched on by the caretaker in the first week of October.',
      'Temperatures in the offices must not fall below twenty degrees.',
    ],
  },
  {
    query: 'baking bread with sourdough',
    documents: [
      'Sourdough bread is baked for an hour, the first ten minutes very hot.',
      'AnswerStream the sourdough with flour and water on the evening before baking.',
      'A good loaf sounds hollow when one knocks at its crust.',
    ],
  },
];
