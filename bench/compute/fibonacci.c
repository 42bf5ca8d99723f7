/* The floor of the kernel: the same naive recursion. Prints the milliseconds of each run. */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static uint64_t fibonacci(int n) {
  return n < 2 ? (uint64_t)n : fibonacci(n - 1) + fibonacci(n - 2);
}

int main(int count, char **words) {
  int n = count > 1 ? atoi(words[1]) : 42;
  struct timespec begin, end;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  volatile uint64_t result = fibonacci(n);
  clock_gettime(CLOCK_MONOTONIC, &end);
  (void)result;
  printf("%.3f\n", (end.tv_sec - begin.tv_sec) * 1e3 + (end.tv_nsec - begin.tv_nsec) / 1e6);
  return 0;
}
