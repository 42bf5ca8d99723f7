/** An answer of JSON text that was rendered before. */
export const jsonText = (text: string): Response =>
  new Response(text, { headers: { 'content-type': 'application/json;charset=utf-8' } });
