// Called by the handler `fibonacci` of src/compute/thread.ts: CPU work that grows with n.

import { checkpoint } from './host';

/** Below it a subtree takes about a tenth of a millisecond, and runs without looking up. */
const CHECKPOINT_FROM: i32 = 24;

/** The n-th number, by naive recursion; n from 0 to 93, the last that fits. */
export function fibonacci(n: i32): u64 {
  if (n < CHECKPOINT_FROM) return count(n);
  checkpoint();
  return fibonacci(n - 1) + fibonacci(n - 2);
}

// The same recursion, as `gcc -O2` compiles it: the second call is a loop, and the first is inlined, here six times. JSC
// inlines no recursion, and a call costs most of the time (written plainly: 1.9 times as long as C; so: about as long).
function count(n: i32): u64 {
  let sum: u64 = 0;
  for (; n >= 2; n -= 2) {
    let a = n - 1;
    for (; a >= 2; a -= 2) {
      let b = a - 1;
      for (; b >= 2; b -= 2) {
        let c = b - 1;
        for (; c >= 2; c -= 2) {
          let d = c - 1;
          for (; d >= 2; d -= 2) {
            let e = d - 1;
            for (; e >= 2; e -= 2) {
              let f = e - 1;
              for (; f >= 2; f -= 2) {
                sum += count(f - 1);
              }
              sum += f;
            }
            sum += e;
          }
          sum += d;
        }
        sum += c;
      }
      sum += b;
    }
    sum += a;
  }
  return sum + n;
}
