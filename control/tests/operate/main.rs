//! Commands for a running appliance, against the control socket of one without packets: the
//! handlers, the queue and the control thread's part are those of `windrose run`.

mod changes;
mod connections;
mod flood;
mod reading;
mod rig;
