// The official SDK of npm, unmodified, with a base URL and a key.

import { afterAll, beforeAll, describe } from 'bun:test';
import { chatSuite } from './chat.ts';
import { errorSuite } from './errors.ts';
import { keySuite } from './keys.ts';
import { modelsSuite, otherSuites } from './others.ts';
import { endPlaces, enterPlace, kindOf, PLACES, type Place } from './place.ts';

afterAll(endPlaces);

for (const name of PLACES) {
  describe(name, () => {
    let place: Place | undefined;
    const here = (): Place => {
      if (place === undefined) throw new Error('nobody has entered the place');
      return place;
    };
    beforeAll(async () => {
      place = await enterPlace(name);
    });

    chatSuite(here, kindOf(name));
    errorSuite(here, kindOf(name));
    if (kindOf(name) !== 'anthropic') otherSuites(here);
    modelsSuite(here);
    if (name === 'the gateway before openai') keySuite(here);
  });
}
