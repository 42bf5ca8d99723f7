import type { Topics } from './topics.ts';

export const spanish: Topics = [
  {
    query: '¿Cuándo se reclama una factura impagada?',
    documents: [
      'La reclamación de una factura se envía catorce días después del vencimiento.',
      'Las facturas impagadas durante dos meses pasan a la agencia de cobros.',
      'El retraso en el pago supone un recargo del cinco por ciento.',
    ],
  },
  {
    query: 'cuántos días de vacaciones tienen los empleados',
    documents: [
      'Cada empleado tiene treinta días de vacaciones al año.',
      'Las vacaciones no disfrutadas caducan en marzo, salvo acuerdo con la jefa.',
      'Los permisos se solicitan en el calendario del personal.',
    ],
  },
  {
    query: 'cambiar la batería del portátil',
    documents: [
      'El taller cambia la batería de los portátiles en dos días.',
      'Cambio de baterías: quite primero los seis tornillos de la parte inferior.',
      'Un ordenador que ya no carga debe llevarse al servicio técnico.',
    ],
  },
  {
    query: 'restablecer una contraseña olvidada',
    documents: [
      'Si ha olvidado su contraseña, pulse el enlace debajo del formulario.',
      'Los administradores restablecen contraseñas en la lista de usuarios.',
      'Entre con el código enviado a su teléfono y elija nuevas credenciales.',
    ],
  },
  {
    query: 'limpieza de la cafetera',
    documents: [
      'La cafetera se limpia cada noche con las pastillas del armario.',
      'Limpiar y descalcificar la máquina de café es tarea de cada mes.',
      'El recipiente de la leche se enjuaga con agua caliente después de usarlo.',
    ],
  },
  {
    query: 'reembolso por un tren con retraso',
    documents: [
      'Con una hora de retraso del tren se reembolsa la cuarta parte del billete.',
      'Los retrasos de los trenes se anuncian en la estación y en la aplicación.',
      'La compañía ferroviaria paga la compensación en cuatro semanas.',
    ],
  },
  {
    query: 'cita para vacunarse contra la gripe',
    documents: [
      'Las citas para la vacuna de la gripe se dan a partir de octubre.',
      'La doctora de la empresa vacuna los martes entre las nueve y las doce.',
      'En invierno el virus se propaga; las personas mayores deben protegerse a tiempo.',
    ],
  },
  {
    query: 'rescindir el contrato de alquiler',
    documents: [
      'El contrato de alquiler puede rescindirse con tres meses de antelación.',
      'La rescisión debe firmarse a mano y enviarse por correo.',
      'Los inquilinos entregan las llaves el último día.',
    ],
  },
  {
    query: 'regar los tomates del huerto',
    documents: [
      'Los tomates necesitan mucha agua: en verano el huerto se riega dos veces al día.',
      'Riegue las plantas por la mañana y solo en la raíz.',
      'Tierra fértil y un lugar soleado hacen crecer las verduras.',
    ],
  },
  {
    query: '¿Quién redacta el acta de la reunión?',
    documents: [
      'El acta de la reunión la redacta el participante más joven.',
      'Las actas se envían a todos al día siguiente de las reuniones.',
      'Lo que decide el equipo se guarda en la carpeta compartida.',
    ],
  },
  {
    query: 'la calefacción no calienta',
    documents: [
      'Si la calefacción sigue fría, purgue primero el radiador.',
      'El conserje enciende la calefacción la primera semana de octubre.',
      'La temperatura de las oficinas no debe bajar de veinte grados.',
    ],
  },
  {
    query: 'hornear pan de masa madre',
    documents: [
      'El pan de masa madre se hornea una hora, los primeros diez minutos muy caliente.',
      'Alimente la masa madre con harina y agua la noche antes de hornear.',
      'Una buena hogaza suena hueca al golpear la corteza.',
    ],
  },
];
