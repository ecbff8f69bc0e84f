/* What bindgen sees of DPDK, and the wrappers of its static inline functions (shim.c). */
#ifndef SHIM_H
#define SHIM_H

#include <stdio.h>
#include <sys/types.h>

#include <rte_config.h>
#include <rte_version.h>
#include <rte_dev.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_eth_bond.h>
#include <rte_ethdev.h>
#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_log.h>
#include <rte_mbuf.h>
#include <rte_mbuf_dyn.h>

#if RTE_VERSION < RTE_VERSION_NUM(22, 11, 0, 0)
#error "DPDK 22.11 or newer is needed"
#endif

/*
 * The head of struct rte_mbuf, as far as it is read for every packet. From 24.11 on DPDK keeps some
 * of these fields in anonymous unions; here they have one name for every version, and shim.c proves
 * at compile time that each is where rte_mbuf has it.
 */
struct shim_mbuf {
	void *buf_addr;
	uint64_t iova_or_next;
	uint16_t data_off;
	uint16_t refcnt;
	uint16_t nb_segs;
	uint16_t port;
	uint64_t ol_flags;
	uint32_t packet_type;
	uint32_t pkt_len;
	uint16_t data_len;
	uint16_t vlan_tci;
	uint32_t hash[2];
	uint16_t vlan_tci_outer;
	uint16_t buf_len;
};

/* What a port may hash on, and the mbuf flags that belong to the buffer and not to the packet. */
extern const uint64_t shim_rss_ip_ports;
extern const uint64_t shim_buffer_flags;
extern const uint64_t shim_vlan_stripped;

int shim_errno(void);
const char *shim_version(void);
FILE *shim_log_stream(ssize_t (*write)(void *cookie, const char *text, size_t length));
uint16_t shim_rx_burst(uint16_t port, uint16_t queue, struct rte_mbuf **mbufs, uint16_t count);
uint16_t shim_tx_burst(uint16_t port, uint16_t queue, struct rte_mbuf **mbufs, uint16_t count);
int shim_alloc_bulk(struct rte_mempool *pool, struct rte_mbuf **mbufs, unsigned int count);
void shim_free(struct rte_mbuf *mbuf);
int shim_chain(struct rte_mbuf *head, struct rte_mbuf *tail);
int shim_linearize(struct rte_mbuf *mbuf);
void shim_cut_chain(struct rte_mbuf *mbuf);
int shim_vlan_insert(struct rte_mbuf **mbuf);
int shim_link(uint16_t port, uint32_t *mbit_per_second);

/* What IEEE 802.1AX says of a member's own side, and the other end's address. */
struct shim_lacp {
	uint8_t collecting;
	uint8_t distributing;
	uint8_t partner[6];
	uint16_t aggregator;
};

extern const uint8_t shim_bond_lacp;
extern const uint8_t shim_bond_active_backup;
extern const uint8_t shim_bond_balance;
int shim_bond_create(const char *name, uint8_t mode);
int shim_bond_add(uint16_t bond, uint16_t member);
int shim_bond_prefer(uint16_t bond, uint16_t member);
int shim_bond_preferred(uint16_t bond);
int shim_bond_active(uint16_t bond, uint16_t *members, uint16_t room);
int shim_bond_lacp_fast(uint16_t bond);
int shim_bond_lacp_ask(uint16_t member, uint16_t queue);
int shim_bond_lacp_state(uint16_t bond, uint16_t member, struct shim_lacp *state);

#endif
