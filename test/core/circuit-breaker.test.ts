// What fails again and again is left alone, and one attempt at a time finds out whether it is well.

import { expect, test } from 'bun:test';
import { createCircuitBreaker } from '../../src/core/circuit-breaker.ts';

function setting() {
  let nowMs = 0;
  const circuit = createCircuitBreaker({
    failuresMax: 5,
    openMsMin: 5000,
    openMsMax: 60_000,
    now: () => nowMs,
  });
  return {
    circuit,
    advance: (ms: number) => {
      nowMs += ms;
    },
    fail: (times: number) => {
      for (let index = 0; index < times; index++) {
        circuit.begin();
        circuit.fail();
      }
    },
  };
}

test('five failures in a row open it, a success between them does not count them on', () => {
  const { circuit, fail } = setting();
  fail(4);
  expect([circuit.state(), circuit.allows()]).toEqual(['closed', true]);
  circuit.begin();
  circuit.succeed();
  fail(4);
  expect(circuit.state()).toBe('closed');
  fail(1);
  expect([circuit.state(), circuit.allows()]).toEqual(['open', false]);
});

test('after its time one is let through, and nobody else until the outcome is known', () => {
  const { circuit, fail, advance } = setting();
  fail(5);
  advance(4999);
  expect(circuit.allows()).toBe(false);
  advance(1);
  expect([circuit.state(), circuit.allows()]).toEqual(['half-open', true]);
  circuit.begin();
  expect(circuit.allows()).toBe(false);
  advance(1_000_000);
  expect(circuit.allows()).toBe(false);
  circuit.succeed();
  expect([circuit.state(), circuit.allows()]).toEqual(['closed', true]);
});

test('one that leaves lets the next one find out', () => {
  const { circuit, fail, advance } = setting();
  fail(5);
  advance(5000);
  circuit.begin();
  circuit.forget();
  expect(circuit.allows()).toBe(true);
});

test('each failed probe doubles the time, up to a minute', () => {
  const { circuit, fail, advance } = setting();
  fail(5);
  for (const openMs of [5000, 10_000, 20_000, 40_000, 60_000, 60_000]) {
    advance(openMs - 1);
    expect([openMs, circuit.allows()]).toEqual([openMs, false]);
    advance(1);
    expect([openMs, circuit.allows()]).toEqual([openMs, true]);
    fail(1);
  }
});

test('requests that were on their way when it opened are no probes', () => {
  const { circuit, advance } = setting();
  for (let index = 0; index < 50; index++) circuit.begin();
  for (let index = 0; index < 50; index++) circuit.fail();
  advance(5000);
  expect(circuit.allows()).toBe(true);
});

test('last tries while it is open are no probes either', () => {
  const { circuit, fail, advance } = setting();
  fail(5);
  for (let index = 0; index < 20; index++) {
    advance(200);
    fail(1);
  }
  advance(1000);
  expect(circuit.allows()).toBe(true);
});
