//go:build lockorder

package lockorder

import "reflect"

// A row says that a lock may be taken while the goroutine has another one, and why it is.
type row struct {
	held, taken Class
	why         string
}

// table is all that is taken under something else. It has no circle. A mutex under one that is held is a row;
// a lock that is no mutex is never waited for under a mutex, and is a row where it is waited for under
// another such lock.
var table = []row{
	{Registry{}, Candidacy{}, "the first call of a cohort opens its candidacy, and the last one closes it"},
	{Registry{}, Queue{}, "Busy and Waiters count the waiters of a cohort; a holder that gives no more wakes them"},
	{Registry{}, Session{}, "a cohort subscribes when it is made, which may make the hub of the session"},
	{Registry{}, Hub{}, "and the hub takes up its listeners, and drops them with the cohort"},
	{Candidacy{}, Queue{}, "a candidate is made or kept only while calls wait in the queue"},
	{Tenure{}, Watchdog{}, "of two changes of the terms the one with the older terms must not be the last"},
	{Lot{}, Queue{}, "permits are moved one waiter after the other, and the lot may become old in between"},
	{Lot{}, Grant{}, "what is moved are the ids of a grant"},
	{Lot{}, Watchdog{}, "and a grant whose waiter had left is forgotten again"},
	{Grant{}, Watchdog{}, "a part of its ids becomes a grant, which is kept before the ids are gone from the first one"},
	{Session{}, Hub{}, "the first waiter of a fair lock in this process has it listen, and the last one has it stop"},
	{Session{}, FairQueue{}, "a queue goes with its last waiter unless it has something to say; a report counts " +
		"its waiters"},
	{Alarm{}, Lately{}, "an alarm rings once at most, and its topic once in a while"},
	{Ledger{}, Ending{}, "the ledger of a test drops the holds that are over"},

	{Attempt{}, Send{}, "the head asks about an owner of its process that it may join"},
}

// leafs are taken under anything. Nothing is taken under them.
var leafs = []Class{
	Clock{},    // a look at the clock may be the one that notices a suspension
	Reporter{}, // what begins to be held wakes it
}

// A pair is a row as it is seen.
type pair struct{ held, taken reflect.Type }

func (p pair) String() string { return p.held.Name() + " " + p.taken.Name() }

var allowed, leaves = func() (allowed map[pair]bool, leaves map[reflect.Type]bool) {
	allowed, leaves = map[pair]bool{}, map[reflect.Type]bool{}
	for _, r := range table {
		allowed[pair{reflect.TypeOf(r.held), reflect.TypeOf(r.taken)}] = true
	}
	for _, c := range leafs {
		leaves[reflect.TypeOf(c)] = true
	}
	return allowed, leaves
}()

// Unseen are the rows of the table that are not among the pairs which the processes of a run have seen.
func Unseen(seen map[string]bool) (rows []string) {
	for _, r := range table {
		if p := (pair{reflect.TypeOf(r.held), reflect.TypeOf(r.taken)}); !seen[p.String()] {
			rows = append(rows, p.String()+": "+r.why)
		}
	}
	return rows
}
