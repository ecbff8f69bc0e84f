/* DPDK's hash table as it is meant to be used beside readers on other cores: without locks. */
#include <rte_hash.h>

struct rte_hash *bench_hash_new(const char *name, uint32_t entries, uint32_t key_len)
{
	struct rte_hash_parameters parameters = {
		.name = name,
		.entries = entries,
		.key_len = key_len,
		.socket_id = SOCKET_ID_ANY,
		.extra_flag = RTE_HASH_EXTRA_FLAGS_RW_CONCURRENCY_LF,
	};

	return rte_hash_create(&parameters);
}

void bench_hash_free(struct rte_hash *hash) { rte_hash_free(hash); }

/* 0, or a negative error. */
int bench_hash_add(const struct rte_hash *hash, const void *key, uintptr_t data)
{
	return rte_hash_add_key_data(hash, key, (void *)data);
}

/* How many of `count`, at most 64, keys of `stride` bytes were found; the sum of their data in `sum`. */
int bench_hash_find(const struct rte_hash *hash, const uint8_t *keys, uint32_t stride, uint32_t count,
		    uint64_t *sum)
{
	const void *pointers[RTE_HASH_LOOKUP_BULK_MAX];
	void *data[RTE_HASH_LOOKUP_BULK_MAX];
	uint64_t hits = 0;

	for (uint32_t i = 0; i < count; i++)
		pointers[i] = keys + (size_t)i * stride;
	int found = rte_hash_lookup_bulk_data(hash, pointers, count, &hits, data);

	for (uint32_t i = 0; i < count; i++)
		if (hits >> i & 1)
			*sum += (uintptr_t)data[i];
	return found;
}
