/*
 * Wrappers for what DPDK has only as static inline functions or macros. On the packet path each is
 * called once a burst, never once a packet; the rest is for rare packets and for start-up.
 */
#define _GNU_SOURCE
#include <stddef.h>

#include "shim.h"

#define SAME_PLACE(field)                                                                        \
	_Static_assert(offsetof(struct shim_mbuf, field) == offsetof(struct rte_mbuf, field) &&  \
			       sizeof(((struct shim_mbuf *)0)->field) ==                         \
				       sizeof(((struct rte_mbuf *)0)->field),                    \
		       "rte_mbuf." #field " is elsewhere in this version of DPDK")
SAME_PLACE(buf_addr);
SAME_PLACE(data_off);
SAME_PLACE(refcnt);
SAME_PLACE(nb_segs);
SAME_PLACE(port);
SAME_PLACE(ol_flags);
SAME_PLACE(packet_type);
SAME_PLACE(pkt_len);
SAME_PLACE(data_len);
SAME_PLACE(vlan_tci);
SAME_PLACE(vlan_tci_outer);
SAME_PLACE(buf_len);

const uint64_t shim_rss_ip_ports = RTE_ETH_RSS_IP | RTE_ETH_RSS_TCP | RTE_ETH_RSS_UDP;
const uint64_t shim_buffer_flags = RTE_MBUF_F_INDIRECT | RTE_MBUF_F_EXTERNAL;
const uint64_t shim_vlan_stripped = RTE_MBUF_F_RX_VLAN_STRIPPED;

int shim_errno(void) { return rte_errno; }

const char *shim_version(void) { return rte_version(); }

FILE *shim_log_stream(ssize_t (*write)(void *cookie, const char *text, size_t length))
{
	return fopencookie(NULL, "w", (cookie_io_functions_t){.write = write});
}

uint16_t shim_rx_burst(uint16_t port, uint16_t queue, struct rte_mbuf **mbufs, uint16_t count)
{
	return rte_eth_rx_burst(port, queue, mbufs, count);
}

uint16_t shim_tx_burst(uint16_t port, uint16_t queue, struct rte_mbuf **mbufs, uint16_t count)
{
	return rte_eth_tx_burst(port, queue, mbufs, count);
}

int shim_alloc_bulk(struct rte_mempool *pool, struct rte_mbuf **mbufs, unsigned int count)
{
	return rte_pktmbuf_alloc_bulk(pool, mbufs, count);
}

void shim_free(struct rte_mbuf *mbuf) { rte_pktmbuf_free(mbuf); }

/* Only tests make chains; drivers do it themselves. */
int shim_chain(struct rte_mbuf *head, struct rte_mbuf *tail)
{
	return rte_pktmbuf_chain(head, tail);
}

int shim_linearize(struct rte_mbuf *mbuf) { return rte_pktmbuf_linearize(mbuf); }

/* Leaves the first segment only. */
void shim_cut_chain(struct rte_mbuf *mbuf)
{
	rte_pktmbuf_free(mbuf->next);
	mbuf->next = NULL;
	mbuf->nb_segs = 1;
	mbuf->pkt_len = mbuf->data_len;
}

int shim_vlan_insert(struct rte_mbuf **mbuf) { return rte_vlan_insert(mbuf); }

/* 1: up, 0: down, negative: an error. Newer versions keep the bits in an anonymous union. */
int shim_link(uint16_t port, uint32_t *mbit_per_second)
{
	struct rte_eth_link link = {0};
	int rc = rte_eth_link_get_nowait(port, &link);

	*mbit_per_second = link.link_speed;
	return rc < 0 ? rc : link.link_status == RTE_ETH_LINK_UP;
}
