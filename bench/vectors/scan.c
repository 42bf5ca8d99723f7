// A plain scan of int8 vectors with an int16 query, as the compiler makes SIMD of it, and a plain sum of the same bytes: prints
// the processor's milliseconds of the best of some rounds of each.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

int main(int argc, char **argv) {
  long count = atol(argv[1]);
  int dimensions = atoi(argv[2]), rounds = atoi(argv[3]);
  int8_t *vectors = aligned_alloc(64, count * dimensions);
  float *scales = malloc(count * sizeof(float));
  int16_t *query = malloc(dimensions * sizeof(int16_t));
  for (long i = 0; i < count * dimensions; i++) vectors[i] = (int8_t)((uint32_t)i * 2654435761u >> 24);
  for (long i = 0; i < count; i++) scales[i] = 1e-3f;
  for (int i = 0; i < dimensions; i++) query[i] = i * 7 % 2047;
  double scan = 1e9, read = 1e9;
  float kept = 0;
  for (int round = 0; round < rounds; round++) {
    double start = now();
    float best = -1e30f;
    for (long i = 0; i < count; i++) {
      int32_t sum = 0;
      const int8_t *vector = vectors + i * dimensions;
      for (int j = 0; j < dimensions; j++) sum += (int32_t)vector[j] * query[j];
      float score = sum * scales[i];
      if (score > best) best = score;
    }
    double took = now() - start;
    if (took < scan) scan = took;
    start = now();
    uint64_t sum = 0;
    const uint64_t *words = (const uint64_t *)vectors;
    for (long i = 0; i < count * dimensions / 8; i++) sum += words[i];
    took = now() - start;
    if (took < read) read = took;
    kept += best + (sum & 1);
  }
  fprintf(stderr, "%f\n", kept);
  printf("%f %f", scan, read);
}
