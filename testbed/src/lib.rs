//! Network-namespace topologies, backends that decapsulate, clients.
