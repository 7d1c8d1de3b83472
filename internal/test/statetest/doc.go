// Package statetest tests scripts by tables: the state before, the call, its reply, the state after, the messages.
//
// Table runs every row on an empty miniredis and on an empty redis-server, and executes every call twice, for a script
// must not mind. Between the two executions all TTLs are cut in half: whoever sets a TTL again is found out. Sequence
// runs rows one after another on the same state, as the protocol's golden states are told.
//
// On redis-server no script may touch a key that its command has not declared.
//
// The whole database is compared, so a key that nobody expected is a failure. A TTL that a row names is what it was
// set to at some moment since the row began: it may have gone down by the time that passed on the server's clock since
// then, and not more. The same holds for deadlines by the server's clock, and for durations in replies.
//
// Names are those of the row, not made unique. That is why the real server is always a process of the test's own.
//
// This is test support: nothing but tests may import it.
package statetest
