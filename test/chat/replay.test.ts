// A stream that is over, or whose reader has left, keeps nothing: no timer, and no ear at its answer.

import { heapStats } from 'bun:jsc';
import { expect, test } from 'bun:test';
import { AnswerStream } from '../../src/chat/answer-stream.ts';
import { streamAnswer } from '../../src/chat/routes/answers.ts';
import { TURN } from './turn.ts';

const STREAMS = 100;

const timers = (): number => {
  Bun.gc(true);
  return heapStats().objectTypeCounts['Timeout'] ?? 0;
};

test.each(['is over', 'is left by its reader'])('that %s', async (end) => {
  const before = timers();
  for (let count = 0; count < STREAMS; count++) {
    const answer = new AnswerStream(TURN);
    let followers = 0;
    const follow = answer.follow.bind(answer);
    answer.follow = (listener) => {
      followers += 1;
      const unfollow = follow(listener);
      return () => {
        followers -= 1;
        unfollow();
      };
    };
    const stream = streamAnswer(answer, async (answered) => answered);
    if (end === 'is over') {
      answer.reject(new Error('over'));
      expect(await new Response(stream).text()).toContain('"type":"error"');
    } else {
      await stream.cancel();
      answer.reject(new Error('over'));
    }
    expect(followers).toBe(0);
  }
  await Bun.sleep(0);
  expect(timers() - before).toBeLessThan(STREAMS / 2);
});
