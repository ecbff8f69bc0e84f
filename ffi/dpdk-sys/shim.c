/*
 * Wrappers for what DPDK has only as static inline functions or macros. On the packet path each is
 * called once a burst, never once a packet; the rest is for rare packets and for start-up.
 */
#define _GNU_SOURCE
#include <stddef.h>
#include <string.h>

#include "shim.h"

#include <rte_eth_bond_8023ad.h>

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

/* Members had another name before 23.11. */
#if RTE_VERSION >= RTE_VERSION_NUM(23, 11, 0, 0)
#define MEMBER_ADD rte_eth_bond_member_add
#define ACTIVE_MEMBERS rte_eth_bond_active_members_get
#define MEMBER_INFO rte_eth_bond_8023ad_member_info
typedef struct rte_eth_bond_8023ad_member_info member_info;
#else
#define MEMBER_ADD rte_eth_bond_slave_add
#define ACTIVE_MEMBERS rte_eth_bond_active_slaves_get
#define MEMBER_INFO rte_eth_bond_8023ad_slave_info
typedef struct rte_eth_bond_8023ad_slave_info member_info;
#endif

const uint8_t shim_bond_lacp = BONDING_MODE_8023AD;
const uint8_t shim_bond_active_backup = BONDING_MODE_ACTIVE_BACKUP;
const uint8_t shim_bond_balance = BONDING_MODE_BALANCE;

/* The port, or a negative error. Where several members carry traffic, a flow has one of them. */
int shim_bond_create(const char *name, uint8_t mode)
{
	int port = rte_eth_bond_create(name, mode, 0);

	if (port >= 0 && mode != BONDING_MODE_ACTIVE_BACKUP)
		rte_eth_bond_xmit_policy_set(port, BALANCE_XMIT_POLICY_LAYER34);
	return port;
}

int shim_bond_add(uint16_t bond, uint16_t member) { return MEMBER_ADD(bond, member); }

int shim_bond_prefer(uint16_t bond, uint16_t member)
{
	return rte_eth_bond_primary_set(bond, member);
}

int shim_bond_preferred(uint16_t bond) { return rte_eth_bond_primary_get(bond); }

int shim_bond_active(uint16_t bond, uint16_t *members, uint16_t room)
{
	return ACTIVE_MEMBERS(bond, members, room);
}

/* A bond's own frames of LACP leave alone, each in a burst of its own. */
static uint16_t ask_fast(__rte_unused uint16_t port, __rte_unused uint16_t queue,
			 struct rte_mbuf *frames[], uint16_t count, __rte_unused void *nothing)
{
	struct lacpdu_header *frame;

	if (count == 1 && frames[0]->data_len >= sizeof(*frame)) {
		frame = rte_pktmbuf_mtod(frames[0], struct lacpdu_header *);
		if (frame->eth_hdr.ether_type == RTE_BE16(RTE_ETHER_TYPE_SLOW) &&
		    frame->lacpdu.subtype == SLOW_SUBTYPE_LACP)
			frame->lacpdu.actor.state |= STATE_LACP_SHORT_TIMEOUT;
	}
	return count;
}

/*
 * The bond never asks for the short timeout by itself: its timer is set before it is started, and
 * what it says of itself is completed on its way out (shim_bond_lacp_ask).
 */
int shim_bond_lacp_fast(uint16_t bond)
{
	struct rte_eth_bond_8023ad_conf conf = {0};
	int rc = rte_eth_bond_8023ad_conf_get(bond, &conf);

	/* It has to be longer. */
	conf.long_timeout_ms = conf.short_timeout_ms + 1;
	return rc ? rc : rte_eth_bond_8023ad_setup(bond, &conf);
}

int shim_bond_lacp_ask(uint16_t member, uint16_t queue)
{
	return rte_eth_add_tx_callback(member, queue, ask_fast, NULL) ? 0 : -rte_errno;
}

int shim_bond_lacp_state(uint16_t bond, uint16_t member, struct shim_lacp *state)
{
	member_info info = {0};
	int rc = MEMBER_INFO(bond, member, &info);

	state->collecting = (info.actor_state & STATE_COLLECTING) != 0;
	state->distributing = (info.actor_state & STATE_DISTRIBUTING) != 0;
	state->aggregator = info.agg_port_id;
	memcpy(state->partner, info.partner.system.addr_bytes, sizeof(state->partner));
	return rc;
}
