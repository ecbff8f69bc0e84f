//! Equal sets share one table, across services, zones and generations (D-5).

use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::{Arc, Weak};

use hashbrown::HashTable;

use super::{Error, Maglev, Member, normal_weights, sorted};
use crate::HashSeed;

/// Every table that is in use somewhere. It holds none alive; only control has it.
#[derive(Debug, Default)]
pub struct MaglevCache {
    tables: HashTable<Cached>,
    hashing: ahash::RandomState,
}

#[derive(Debug)]
struct Cached {
    hash: u64,
    members: Box<[(Box<str>, u32)]>,
    size: u32,
    seed: HashSeed,
    table: Weak<Maglev>,
}

impl MaglevCache {
    /// What [`Maglev::build`] gives, built only if nobody holds an equal one.
    pub fn get(
        &mut self,
        members: &[Member<'_>],
        size: u32,
        seed: &HashSeed,
    ) -> Result<Arc<Maglev>, Error> {
        let mut members = sorted(members)?;
        let weights = normal_weights(&members);
        members.iter_mut().zip(weights).for_each(|(member, weight)| member.weight = weight);
        let hash = self.hash(&members, size, seed);
        let is_equal = |cached: &Cached| cached.is_of(hash, &members, size, seed);
        if let Some(table) = self.tables.find(hash, is_equal).and_then(|c| c.table.upgrade()) {
            return Ok(table);
        }
        let table = Arc::new(Maglev::build(&members, size, seed)?);
        self.sweep();
        let cached = Cached::new(hash, &members, size, *seed, &table);
        self.tables.insert_unique(hash, cached, |cached| cached.hash);
        Ok(table)
    }

    /// Tables that somebody holds.
    pub fn len(&self) -> usize {
        self.tables.iter().filter(|cached| cached.is_held()).count()
    }

    /// Whether nobody holds any.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Forgets tables that nobody holds. Building one costs far more than this walk.
    fn sweep(&mut self) {
        self.tables.retain(|cached| cached.is_held());
    }

    fn hash(&self, members: &[Member<'_>], size: u32, seed: &HashSeed) -> u64 {
        let mut hasher = self.hashing.build_hasher();
        (size, seed.0).hash(&mut hasher);
        members.iter().for_each(|member| (member.name, member.weight).hash(&mut hasher));
        hasher.finish()
    }
}

impl Cached {
    fn new(
        hash: u64,
        members: &[Member<'_>],
        size: u32,
        seed: HashSeed,
        table: &Arc<Maglev>,
    ) -> Self {
        let members = members.iter().map(|m| (m.name.into(), m.weight)).collect();
        Self { hash, members, size, seed, table: Arc::downgrade(table) }
    }

    fn is_held(&self) -> bool {
        self.table.strong_count() > 0
    }

    fn is_of(&self, hash: u64, members: &[Member<'_>], size: u32, seed: &HashSeed) -> bool {
        let own = || self.members.iter().map(|(name, weight)| (&**name, *weight));
        (self.hash, self.size, self.seed) == (hash, size, *seed)
            && own().eq(members.iter().map(|m| (m.name, m.weight)))
    }
}
