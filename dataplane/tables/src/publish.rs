//! How Tables reach the workers and are freed (D-5).
