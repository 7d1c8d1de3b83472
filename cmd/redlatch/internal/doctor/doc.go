// Package doctor examines the servers that locks are kept on, and says what is wrong with them and what to do about it.
//
// A Check is one thing that can be wrong. Checks is the table of all of them; docs/doctor.md shows it. Each check is asked of
// every master, or once of all servers together, and answers in one of four ways:
//
//	found    it is wrong, and the detail says where and how
//	fine     it was looked at, and is as it should be
//	unknown  it could not be looked at, for want of a right or of an answer; the detail says why
//	beside   it does not apply: a server without AOF has no appendfsync
//
// A check never answers fine for something that it was not able to see. Checks fail alone: a right that is missing, or a
// server that does not answer, costs the checks that need it and no other.
//
// The doctor changes nothing but keys and channels with a random name of its own. The keys have a TTL, and are deleted.
package doctor
