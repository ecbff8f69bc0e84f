//! The targets as tests: every file of `seeds/`, each also bent a little, and noise. What the
//! fuzzer once found is kept there by the name of what it was.

use std::path::Path;

/// xorshift64
fn next(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

fn seeds(target: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("seeds").join(target);
    let files = std::fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    files.map(|file| std::fs::read(file.expect("a file").path()).expect("readable")).collect()
}

#[test]
fn no_target_falls_over_its_seeds_bent_seeds_or_noise() {
    let mut state = 0x9E37_79B9_7F4A_7C15;
    for (target, run) in fuzz::TARGETS {
        let seeds = seeds(target);
        assert!(!seeds.is_empty(), "{target} has no seed");
        for seed in &seeds {
            run(seed);
            for _ in 0..50 {
                let mut bent = seed.clone();
                for _ in 0..next(&mut state) % 6 {
                    let at = next(&mut state) as usize % bent.len().max(1);
                    bent.get_mut(at..=at)
                        .into_iter()
                        .flatten()
                        .for_each(|b| *b = next(&mut state) as u8);
                }
                bent.truncate(bent.len() - next(&mut state) as usize % (bent.len() / 4 + 1));
                run(&bent);
            }
        }
        for length in (0..500).step_by(5) {
            let noise: Vec<_> = (0..length).map(|_| next(&mut state) as u8).collect();
            run(&noise);
        }
    }
}
