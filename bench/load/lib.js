// What the scenarios share: the place that they call, one way to send a request, and what an answer has to be.

import { check } from 'k6';
import exec from 'k6/execution';
import http from 'k6/http';
import { Counter } from 'k6/metrics';

/** What bench/load/setting.ts has prepared. */
export const setting = JSON.parse(open(__ENV.SETTING));

/** Requests that the service refused because it was full, which only some shapes allow. */
const refused = new Counter('refused');
const allowsRefusals = __ENV.REFUSALS === 'allowed';

/** Ends an iteration whose request was refused: the rest of it needs the answer. */
class Refused extends Error {}

/** Different in each iteration of a run, and in each run. */
export const unique = () => `${__ENV.RUN}-${exec.vu.idInTest}-${exec.vu.iterationInInstance}`;

const json = { 'content-type': 'application/json' };
export const apiKey = { APIKeyHeader: setting.key };
export const serviceKey = { 'svc-key': setting.key };
export const bearer = { authorization: `Bearer ${setting.key}` };

/**
 * Sends a request and checks its answer: the status, and what `holds` says of it. Every mistake is one failed check, under the name
 * of the request.
 */
export function send(name, method, path, { headers = {}, body, status = 200, holds } = {}) {
  const isText = body === undefined || typeof body === 'string';
  const url = path.startsWith('http') ? path : `${setting.url}${path}`;
  const response = http.request(method, url, isText ? (body ?? null) : JSON.stringify(body), {
    headers: isText ? headers : { ...json, ...headers },
    tags: { name },
  });
  if (allowsRefusals && response.status === 503 && response.headers['Retry-After'] !== undefined) {
    refused.add(1);
    throw new Refused(name);
  }
  const isRight = check(response, {
    [name]: (answer) => answer.status === status && (holds === undefined || holds(answer) === true),
  });
  if (!isRight && __ENV.SHOWS_MISTAKES === '1')
    console.error(`${name}: ${response.status} ${response.error} ${String(response.body).slice(0, 300)}`);
  return response;
}

export const postJson = (name, path, body, options = {}) => send(name, 'POST', path, { ...options, body });
export const get = (name, path, options = {}) => send(name, 'GET', path, options);

/** Runs an iteration; one that was refused has ended, and is no mistake. */
export function attempt(run) {
  try {
    run();
    done.add(1);
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
  }
}

/** Iterations that came to their end: the goodput. */
const done = new Counter('done');

export const pick = (list) => list[Math.floor(Math.random() * list.length)];

/**
 * Calls one of the functions; `[[3, read], [1, write]]` reads three times out of four. Where everything is to be tried once, they take
 * turns instead.
 */
export function oneOf(choices) {
  if (__ENV.CHOICE === 'turns') return choices[exec.vu.iterationInInstance % choices.length][1]();
  const total = choices.reduce((sum, [weight]) => sum + weight, 0);
  let left = Math.random() * total;
  for (const [weight, run] of choices) {
    left -= weight;
    if (left < 0) return run();
  }
}
