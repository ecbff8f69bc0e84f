/* Maglev's table as the paper's pseudocode has it (section 3.4), equal weights: the time to beat. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static uint64_t mix(uint64_t word)
{
	word ^= word >> 33;
	word *= 0xff51afd7ed558ccdULL;
	word ^= word >> 33;
	word *= 0xc4ceb9fe1a85ec53ULL;
	return word ^ word >> 33;
}

/* Fills `slots`; 0 if there is no memory. */
int bench_maglev(uint16_t *slots, uint32_t size, uint32_t members, uint64_t seed)
{
	uint32_t *next = malloc(sizeof(*next) * members);
	uint32_t *skip = malloc(sizeof(*skip) * members);
	uint32_t filled = 0;
	int ok = next != NULL && skip != NULL;

	if (ok) {
		memset(slots, 0xff, sizeof(*slots) * size);
		for (uint32_t i = 0; i < members; i++) {
			next[i] = mix(seed + 2 * i) % size;
			skip[i] = mix(seed + 2 * i + 1) % (size - 1) + 1;
		}
	}
	while (ok && filled < size) {
		for (uint32_t i = 0; i < members && filled < size; i++) {
			while (slots[next[i]] != 0xffff) {
				next[i] += skip[i];
				next[i] -= next[i] >= size ? size : 0;
			}
			slots[next[i]] = (uint16_t)i;
			filled++;
		}
	}
	free(next);
	free(skip);
	return ok;
}
