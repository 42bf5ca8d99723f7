// Screenshots as small PNG files: with a palette of their most frequent colours, which pages of text hardly differ from.
// https://www.w3.org/TR/png-3/

import { crc32, deflateSync, inflateSync } from 'node:zlib';

type Image = { width: number; height: number /** Three bytes a pixel. */; rgb: Uint8Array };

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
/** The most frequent colours, and how many in all: the rest are those that no other is near. */
const FREQUENT = 72;
const COLOURS_MAX = 128;
/** Squared distance of colours from which the eye tells them apart in thin lines. */
const NEAR = 1200;

/** The same picture with at most 128 colours. `png`: eight bits a channel, with or without transparency, not interlaced. */
export function withPalette(png: Buffer): Buffer {
  const { width, height, rgb } = decode(png);
  const { palette, indexOf } = choosePalette(rgb);
  const rows = Buffer.alloc(height * (width + 1));
  for (let y = 0, at = 0; y < height; y++)
    for (let x = 0; x < width; x++, at += 3) rows[y * (width + 1) + 1 + x] = indexOf(at);
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 3, 0, 0, 0], 8);
  return Buffer.concat([
    SIGNATURE,
    chunk('IHDR', header),
    chunk(
      'PLTE',
      Buffer.from(palette.flatMap((colour) => [colour >> 16, (colour >> 8) & 255, colour & 255])),
    ),
    chunk('IDAT', deflateSync(rows, { level: 9, memLevel: 9 })),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

function chunk(name: string, data: Buffer): Buffer {
  const typed = Buffer.concat([Buffer.from(name, 'latin1'), data]);
  const [length, checksum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  checksum.writeUInt32BE(crc32(typed));
  return Buffer.concat([length, typed, checksum]);
}

/** The colours of the palette, and for each pixel the nearest of them. */
function choosePalette(rgb: Uint8Array): { palette: number[]; indexOf(at: number): number } {
  const colourAt = (at: number): number =>
    ((rgb[at] ?? 0) << 16) | ((rgb[at + 1] ?? 0) << 8) | (rgb[at + 2] ?? 0);
  const counts = new Map<number, number>();
  for (let at = 0; at < rgb.length; at += 3) counts.set(colourAt(at), (counts.get(colourAt(at)) ?? 0) + 1);
  const byCount = [...counts.entries()].sort(([, a], [, b]) => b - a).map(([colour]) => colour);
  const palette = byCount.slice(0, FREQUENT);
  for (const colour of byCount.slice(FREQUENT)) {
    if (palette.length === COLOURS_MAX) break;
    if (palette.every((each) => distance(each, colour) > NEAR)) palette.push(colour);
  }
  const nearest = new Map<number, number>();
  return {
    palette,
    indexOf(at) {
      const colour = colourAt(at);
      const known = nearest.get(colour);
      if (known !== undefined) return known;
      const distances = palette.map((each) => distance(each, colour));
      const index = distances.indexOf(Math.min(...distances));
      nearest.set(colour, index);
      return index;
    },
  };
}

const distance = (a: number, b: number): number =>
  ((a >> 16) - (b >> 16)) ** 2 + (((a >> 8) & 255) - ((b >> 8) & 255)) ** 2 + ((a & 255) - (b & 255)) ** 2;

function decode(png: Buffer): Image {
  const [width, height] = [png.readUInt32BE(16), png.readUInt32BE(20)];
  const bytesEach = png[25] === 6 ? 4 : 3;
  const data: Buffer[] = [];
  for (let at = SIGNATURE.length; at < png.length; ) {
    const length = png.readUInt32BE(at);
    if (png.toString('latin1', at + 4, at + 8) === 'IDAT') data.push(png.subarray(at + 8, at + 8 + length));
    at += length + 12;
  }
  const raw = unfilter(inflateSync(Buffer.concat(data)), width * bytesEach, bytesEach);
  const rgb = new Uint8Array(width * height * 3);
  for (let pixel = 0; pixel < width * height; pixel++)
    rgb.set(raw.subarray(pixel * bytesEach, pixel * bytesEach + 3), pixel * 3);
  return { width, height, rgb };
}

/** The bytes of the rows without their filters (section 9.2). */
function unfilter(filtered: Buffer, stride: number, bytesEach: number): Uint8Array {
  const height = filtered.length / (stride + 1);
  const out = new Uint8Array(height * stride);
  for (let y = 0; y < height; y++) {
    const kind = filtered[y * (stride + 1)] ?? 0;
    for (let x = 0; x < stride; x++) {
      const at = y * stride + x;
      const left = x < bytesEach ? 0 : (out[at - bytesEach] ?? 0);
      const up = y === 0 ? 0 : (out[at - stride] ?? 0);
      const corner = y === 0 || x < bytesEach ? 0 : (out[at - stride - bytesEach] ?? 0);
      out[at] = (filtered[y * (stride + 1) + 1 + x] ?? 0) + predict(kind, left, up, corner);
    }
  }
  return out;
}

function predict(kind: number, left: number, up: number, corner: number): number {
  if (kind === 1) return left;
  if (kind === 2) return up;
  if (kind === 3) return (left + up) >> 1;
  if (kind !== 4) return 0;
  const [a, b, c] = [Math.abs(up - corner), Math.abs(left - corner), Math.abs(left + up - 2 * corner)];
  if (a <= b && a <= c) return left;
  return b <= c ? up : corner;
}
