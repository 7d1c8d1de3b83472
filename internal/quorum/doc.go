// Package quorum is the hold that stands on the holds of several locks: on all of them for a multi-lock, on a
// majority for a redlock. It knows nothing of Redis.
//
//	          need members held
//	asking ─────────────────────► held ──Unlock──► released
//	  │                            │
//	  ▼ too few                    └── fewer than need remain ──► lost ──Unlock, or 5 s──► given back
//	given back
//
// Each member is kept alive by its own watchdog and tells of its own end. The hold's trust is that of its
// need-th best member, for until then at least that many are in force. When it is lost its contexts end at
// once; the members that remain are given back by Unlock, or without it a little later, so that a program
// that hangs keeps nothing.
package quorum
