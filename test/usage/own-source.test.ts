// Nobody but the service sends events of the source `atrium`, however the name is written.

import { expect, test } from 'bun:test';
import { isOwnSource } from '../../src/usage/own-source.ts';

test.each([
  'atrium',
  'Atrium',
  'ATRIUM',
  'atrium ',
  ' atrium',
  '\tatrium\n',
  'at rium',
  '\u00a0atrium\u3000',
  'atri\u200bum',
  '\ufeffatrium',
  'a\u00adtrium',
  'atrium\u2060',
  'atrium\u{e0041}',
  'atrium\ufe0f',
  'аtrium', // Cyrillic а
  'аtгіυм',
  'ΑΤRΙUΜ', // Greek capitals
  'ɑtrium',
  'atrıum',
  'atrlum',
  'atr1um',
  'atr|um',
  'atriurn',
  'ａｔｒｉｕｍ',
  '𝐚𝐭𝐫𝐢𝐮𝐦',
  '𝒜𝓉𝓇𝒾𝓊𝓂',
  'ⓐⓣⓡⓘⓤⓜ',
  '🅰🆃🆁🅸🆄🅼',
  '🇦🇹🇷🇮🇺🇲',
  'ᴀᴛʀɪᴜᴍ',
  'átriüm',
  'ạṭṛịụṃ',
  'aŧrium',
  'atԼium',
  'ꭺꭲꭱꭵᑌꮇ',
  '\u202emuirta',
])('%p is the own source, or looks like it', (source) => expect(isOwnSource(source)).toBe(true));

test.each([
  'web',
  'atrium-web',
  'my-atrium',
  'https://atrium.example.com',
  '/atrium/1',
  'atrium2',
  'atria',
  'patrium',
  'muirta',
  'aquarium',
  'medium',
  'Театр',
  '日本語の源泉',
  'приёмная',
  '',
  '\u200b',
])('%p is the name of another', (source) => expect(isOwnSource(source)).toBe(false));
