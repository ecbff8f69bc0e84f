//! Proxy services: SNI routes, zonal failover.
