package fairlock_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/keys"
	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/scripts/fairlock"
	"github.com/redlatch/redlatch/internal/test/redistest"
	. "github.com/redlatch/redlatch/internal/test/statetest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

const (
	key      = "f"
	channel  = "redisson_lock__channel:{f}"
	queue    = "redisson_lock_queue:{f}"
	timeouts = "redisson_lock_timeout:{f}"
	living   = "redlatch_lock_alive:{f}"

	u       = "b983c153-7421-469a-addb-44fb92259a1b:"
	a, b, c = u + "1", u + "2", u + "3"
	d, e    = u + "4", u + "5"
	f       = "1e6ac0a8-8cf1-4a7f-ba23-5d4ff4ba1ad9:1" // of another process

	lease    = 30 * time.Second
	fresh    = lease + 2*patience // the deadline of one of ours that has just given a sign of life
	patience = 15 * time.Second
	redisson = 300 * time.Second // the patience of a waiter of Redisson's
	kept     = time.Hour         // how long what we keep beside the queue outlives us
)

var (
	wake = scripts.Wake{Publish: "PUBLISH", Channel: channel}
	mine = fairlock.Answer{Held: true, Place: -1}
	free = State{}
)

func w(owner string) fairlock.Waiter { return fairlock.Waiter{Owner: owner, Patience: patience} }

// plain is an acquisition without what its answer says of the time and the queue.
func plain(cmd scripts.Command[fairlock.Answer]) scripts.Command[fairlock.Answer] {
	return scripts.Map(cmd, func(a fairlock.Answer) fairlock.Answer {
		return fairlock.Answer{Held: a.Held, Again: a.Again, Place: a.Place, Places: a.Places}
	})
}

func acquire(owner string, others ...fairlock.Waiter) scripts.Command[fairlock.Answer] {
	return plain(fairlock.Acquire(key, w(owner), lease, wake, others, fairlock.Load{}))
}

func try(owner string) scripts.Command[fairlock.Answer] {
	return plain(fairlock.Acquire(key, fairlock.Waiter{Owner: owner}, lease, wake, nil, fairlock.Load{}))
}

// quiet is a try of one who does not know which command wakes the next.
func quiet(owner string) scripts.Command[fairlock.Answer] {
	return plain(fairlock.Acquire(key, fairlock.Waiter{Owner: owner}, lease, scripts.Wake{}, nil, fairlock.Load{}))
}

// state is a lock with its queue. Empty parts do not exist.
func state(holder string, order List, deadlines, alive Deadlines) State {
	s := State{}
	if holder != "" {
		s[key] = Key{Value: Hash{holder: "1"}, TTL: lease}
	}
	if len(order) > 0 {
		s[queue] = Key{Value: order}
	}
	if len(deadlines) > 0 {
		s[timeouts] = Key{Value: deadlines}
	}
	if len(alive) > 0 {
		s[living] = Key{Value: alive, TTL: kept}
	}
	return s
}

// told are the messages that say to an owner that has become the next when the lease ends.
func told(owner string) []Message { return []Message{{Channel: channel + ":" + owner, Left: lease}} }

func woken(owner string) []Message { return []Message{{Channel: channel + ":" + owner, Payload: "0"}} }

func TestTheKeysAreRedissons(t *testing.T) {
	require.Equal(t, queue, keys.FairQueue(key))
	require.Equal(t, timeouts, keys.FairTimeouts(key))
	require.Equal(t, living, keys.FairAlive(key))
	require.Equal(t, channel, keys.LockChannel(key))
}

func TestAcquire(t *testing.T) {
	Table(t, []Row{
		{Name: "A free lock without a queue is taken, and nothing is left beside it",
			Before: free, Call: Answers(acquire(a), mine).Lengthens(), After: state(a, nil, nil, nil)},
		{Name: "A repetition changes nothing, whoever waits by now",
			Before: state(a, List{b}, Deadlines{b: 45 * time.Second}, Deadlines{b: patience}),
			Call:   Answers(acquire(a), mine).Lengthens()},
		{Name: "Who finds it taken stands in the queue",
			Before: state(a, nil, nil, nil),
			Call:   Answers(acquire(b), fairlock.Answer{Again: lease}).Lengthens(),
			After:  state(a, List{b}, Deadlines{b: fresh}, Deadlines{b: patience})},
		{Name: "The next one stands behind, and its deadline is no link of a chain while all are ours",
			Before: state(a, List{b}, Deadlines{b: time.Hour}, Deadlines{b: time.Second}),
			Call:   Answers(acquire(c), fairlock.Answer{Again: lease, Place: 1}).Lengthens(),
			After:  state(a, List{b, c}, Deadlines{b: time.Hour, c: fresh}, Deadlines{b: time.Second, c: patience})},
		{Name: "Who comes first deletes what is left of a queue that is gone",
			Before: state(a, nil, Deadlines{c: time.Hour}, Deadlines{d: patience}),
			Call:   Answers(acquire(b), fairlock.Answer{Again: lease}).Lengthens(),
			After:  state(a, List{b}, Deadlines{b: fresh}, Deadlines{b: patience})},
		{Name: "Behind a waiter of Redisson's too",
			Before: state(a, List{b}, Deadlines{b: lease + redisson}, nil),
			Call:   Answers(acquire(c), fairlock.Answer{Again: lease, Place: 1}).Lengthens(),
			After:  state(a, List{b, c}, Deadlines{b: lease + redisson, c: lease + redisson + patience}, Deadlines{c: patience})},
		{Name: "Behind one of Redisson's that has waited for long, the deadline covers what that will subtract",
			Before: state(a, List{b}, Deadlines{b: time.Minute}, nil),
			Call:   Answers(acquire(c), fairlock.Answer{Again: lease, Place: 1}).Lengthens(),
			After:  state(a, List{b, c}, Deadlines{b: time.Minute, c: lease + redisson + patience}, Deadlines{c: patience})},
		{Name: "Behind two of Redisson's, it is behind both",
			Before: state(a, List{b, c}, Deadlines{b: lease + redisson, c: lease + 2*redisson}, nil),
			Call:   Answers(acquire(d), fairlock.Answer{Again: lease, Place: 1}).Lengthens(),
			After: state(a, List{b, c, d}, Deadlines{b: lease + redisson, c: lease + 2*redisson, d: lease + 2*redisson + patience},
				Deadlines{d: patience})},
		{Name: "A place is confirmed: the deadline and the sign of life move on",
			Before: state(a, List{b}, Deadlines{b: time.Second}, Deadlines{b: time.Second}),
			Call:   Answers(acquire(b), fairlock.Answer{Again: lease}).Lengthens(),
			After:  state(a, List{b}, Deadlines{b: fresh}, Deadlines{b: patience})},
		{Name: "A deadline is never lowered",
			Before: state(a, List{b}, Deadlines{b: time.Hour}, Deadlines{b: time.Second}),
			Call:   Answers(acquire(b), fairlock.Answer{Again: lease}).Lengthens(),
			After:  state(a, List{b}, Deadlines{b: time.Hour}, Deadlines{b: patience})},
		{Name: "The others of the process are confirmed with it, and nobody else",
			Before: state(a, List{b, d, c}, Deadlines{b: time.Second, d: time.Second, c: time.Second},
				Deadlines{b: time.Second, d: time.Second, c: time.Second}),
			Call:  Answers(acquire(b, w(c)), fairlock.Answer{Again: lease, Places: []int{1}}).Lengthens(),
			After: state(a, List{b, d, c}, Deadlines{b: fresh, d: time.Second, c: fresh}, Deadlines{b: patience, d: time.Second, c: patience})},
		{Name: "Who is not next learns whether another of its process is",
			Before: state(a, List{b, c}, Deadlines{b: fresh, c: fresh}, Deadlines{b: patience, c: patience}),
			Call:   Answers(acquire(c, w(b)), fairlock.Answer{Again: lease, Place: 1, Places: []int{0}}).Lengthens()},
		{Name: "With one of Redisson's among them, whoever stands behind is moved on by as much",
			Before: state(a, List{b, d, c, e}, Deadlines{b: time.Second, d: time.Second + redisson,
				c: time.Second + redisson + patience, e: time.Second + redisson + 2*patience},
				Deadlines{b: time.Second, c: time.Second, e: 10 * time.Second}),
			Call: Answers(acquire(b, w(c)), fairlock.Answer{Again: lease, Places: []int{1}}).Lengthens(),
			After: state(a, List{b, d, c, e}, Deadlines{b: fresh, d: fresh + redisson,
				c: fresh + redisson + patience, e: fresh + redisson + 2*patience},
				Deadlines{b: patience, c: patience, e: 10 * time.Second})},
		{Name: "A deadline covers what those of other processes in front will subtract: of the first of all the usual, of Redisson's others what they added, of ours the time they are known to live",
			Before: state(a, List{d, e, c, b}, Deadlines{d: time.Second, e: 4 * time.Second, c: 19 * time.Second, b: 34 * time.Second},
				Deadlines{c: 20 * time.Second, b: time.Second}),
			Call: Answers(acquire(b), fairlock.Answer{Again: lease, Place: 1}).Lengthens(),
			After: state(a, List{d, e, c, b}, Deadlines{d: time.Second, e: 4 * time.Second, c: 19 * time.Second,
				b: lease + redisson + 3*time.Second + 20*time.Second + patience}, Deadlines{c: 20 * time.Second, b: patience})},
		{Name: "What one of Redisson's added is believed up to the usual, for somebody between may have gone",
			Before: state(a, List{d, e, b}, Deadlines{d: time.Second, e: time.Second + 2*redisson, b: 2 * redisson}, Deadlines{b: time.Second}),
			Call:   Answers(acquire(b), fairlock.Answer{Again: lease, Place: 1}).Lengthens(),
			After: state(a, List{d, e, b}, Deadlines{d: time.Second, e: time.Second + 2*redisson, b: lease + 2*redisson + patience},
				Deadlines{b: patience})},
		{Name: "Of one of Redisson's that has no deadline, or none after that of whoever is in front, the usual is expected",
			Before: state(a, List{d, e, c, b}, Deadlines{d: 10 * time.Second, c: 10 * time.Second, b: 20 * time.Second}, Deadlines{b: time.Second}),
			Call:   Answers(acquire(b), fairlock.Answer{Again: lease, Place: 1}).Lengthens(),
			After: state(a, List{d, e, c, b}, Deadlines{d: 10 * time.Second, c: 10 * time.Second, b: lease + 3*redisson + patience},
				Deadlines{b: patience})},
		{Name: "Another that is not in the queue is reported and not put there, for it may have left",
			Before: state(a, List{b, d}, Deadlines{b: fresh, d: fresh}, Deadlines{b: patience, d: patience}),
			Call:   Answers(acquire(b, w(c), w(d)), fairlock.Answer{Again: lease, Places: []int{-1, 1}}).Lengthens()},
		{Name: "What we keep beside the queue outlives the most patient of us by far",
			Before: state(a, List{b, c}, Deadlines{b: lease + patience, c: time.Hour}, Deadlines{b: patience, c: patience}),
			Call:   Answers(acquire(b, fairlock.Waiter{Owner: c, Patience: kept / 3}), fairlock.Answer{Again: lease, Places: []int{1}}).Lengthens(),
			After: State{key: {Value: Hash{a: "1"}, TTL: lease}, queue: {Value: List{b, c}},
				timeouts: {Value: Deadlines{b: fresh, c: time.Hour}},
				living:   {Value: Deadlines{b: patience, c: kept / 3}, TTL: 4 * kept / 3}}},
		{Name: "Nobody overtakes the one who is next",
			Before: state("", List{b}, Deadlines{b: patience}, Deadlines{b: patience}),
			Call:   Answers(try(c), fairlock.Answer{Again: patience, Place: -1}).Lengthens()},
		{Name: "A try does not stand in the queue",
			Before: state(a, nil, nil, nil), Call: Answers(try(b), fairlock.Answer{Again: lease, Place: -1})},
		{Name: "The next one takes it; while all are ours that changes nobody's deadline",
			Before: state("", List{b, c}, Deadlines{b: patience, c: 30 * time.Second}, Deadlines{b: patience, c: patience}),
			Call:   Answers(acquire(b), mine).Lengthens(),
			After:  state(b, List{c}, Deadlines{c: 30 * time.Second}, Deadlines{c: patience})},
		{Name: "With one of Redisson's among them, they stand as far behind its lease as they stood behind it",
			Before: state("", List{b, c, d}, Deadlines{b: patience, c: 2 * patience, d: 2*patience + redisson}, Deadlines{b: patience, c: patience}),
			Call:   Answers(acquire(b), mine).Lengthens(),
			After:  state(b, List{c, d}, Deadlines{c: lease + patience, d: lease + patience + redisson}, Deadlines{c: patience})},
		{Name: "So one of Redisson's that becomes the next has its time, however long it has waited",
			Before: state("", List{b, d, e, c}, Deadlines{b: -time.Minute, d: time.Second, e: 2 * time.Second, c: 3 * time.Second}, Deadlines{b: patience, c: patience}),
			Call:   Answers(acquire(b), mine).Lengthens(),
			After: state(b, List{d, e, c}, Deadlines{d: lease + 61*time.Second, e: lease + 62*time.Second, c: lease + 63*time.Second},
				Deadlines{c: patience})},
		{Name: "Who has no deadline moves nobody",
			Before: state("", List{b, d}, Deadlines{d: time.Minute}, Deadlines{b: patience}),
			Call:   Answers(acquire(b), mine).Lengthens(),
			After:  state(b, List{d}, Deadlines{d: time.Minute}, nil)},
		{Name: "Who becomes the next by that is told of the lease, if it is another process's",
			Before: state("", List{b, f}, Deadlines{b: patience, f: 30 * time.Second}, Deadlines{b: patience, f: patience}),
			Call:   Answers(acquire(b), mine).Lengthens(),
			After:  state(b, List{f}, Deadlines{f: 30 * time.Second}, Deadlines{f: patience}), Messages: told(f)},
		{Name: "but not one of Redisson's, which would ask at once",
			Before: state("", List{b, f}, Deadlines{b: patience, f: 30 * time.Second}, Deadlines{b: patience}),
			Call:   Answers(acquire(b), mine).Lengthens(),
			After:  state(b, List{f}, Deadlines{f: lease + patience}, nil)},
		{Name: "nor anybody without a command",
			Before: state("", List{b, f}, Deadlines{b: patience, f: 30 * time.Second}, Deadlines{b: patience, f: patience}),
			Call:   Answers(plain(fairlock.Acquire(key, w(b), lease, scripts.Wake{}, nil, fairlock.Load{})), mine).Lengthens(),
			After:  state(b, List{f}, Deadlines{f: 30 * time.Second}, Deadlines{f: patience})},
		{Name: "Who becomes the next because one of Redisson's is gone is told what is left of it",
			Before: state(a, List{d, f}, Deadlines{d: -time.Second, f: time.Hour}, Deadlines{f: patience}),
			Call:   Answers(try(b), fairlock.Answer{Again: lease, Place: -1}).Lengthens(),
			After:  state(a, List{f}, Deadlines{f: time.Hour}, Deadlines{f: patience}), Messages: told(f)},
		{Name: "or finds it in the answer",
			Before: state(a, List{d, f}, Deadlines{d: -time.Second, f: time.Hour}, Deadlines{f: patience}),
			Call:   Answers(acquire(f), fairlock.Answer{Again: lease}).Lengthens(),
			After:  state(a, List{f}, Deadlines{f: time.Hour}, Deadlines{f: patience})},
		{Name: "The next one also takes back what it was moved on by, so those behind last no longer than with Redisson alone",
			Before: state("", List{b, c, d}, Deadlines{b: time.Hour, c: time.Hour + redisson, d: time.Hour + redisson + patience}, Deadlines{b: patience, d: patience}),
			Call:   Answers(acquire(b), mine).Lengthens(),
			After:  state(b, List{c, d}, Deadlines{c: lease + redisson, d: lease + redisson + patience}, Deadlines{d: patience})},
		{Name: "The next one takes back no more than those behind can spare",
			Before: state("", List{b, c, d}, Deadlines{b: time.Hour, c: lease + time.Minute, d: time.Hour}, Deadlines{b: patience, d: patience}),
			Call:   Answers(acquire(b), mine).Lengthens(),
			After:  state(b, List{c, d}, Deadlines{c: lease, d: time.Hour - time.Minute}, Deadlines{d: patience})},
		{Name: "A head of ours that is gone is passed over while the lock is free, and the next is woken",
			Before: state("", List{b, c}, Deadlines{b: time.Hour, c: 2 * time.Hour}, Deadlines{b: -time.Millisecond, c: patience}),
			Call:   Answers(try(d), fairlock.Answer{Again: patience, Place: -1}).Lengthens(),
			After:  state("", List{c}, Deadlines{c: 2 * time.Hour}, Deadlines{c: patience}), Messages: woken(c)},
		{Name: "All heads that are gone are passed over at once",
			Before: state("", List{b, c, d}, Deadlines{b: time.Hour, c: 2 * time.Hour, d: 3 * time.Hour},
				Deadlines{b: -time.Second, c: -time.Second, d: -time.Second}),
			Call: Answers(try(e), mine).Lengthens(), After: state(e, nil, nil, nil)},
		{Name: "While somebody holds, a head of ours that was not heard of keeps its place",
			Before: state(a, List{b}, Deadlines{b: -time.Second}, Deadlines{b: -time.Second}),
			Call:   Answers(try(d), fairlock.Answer{Again: lease, Place: -1}).Lengthens()},
		{Name: "A living head of ours keeps its place although its deadline has passed",
			Before: state("", List{b}, Deadlines{b: -time.Second}, Deadlines{b: patience}),
			Call:   Answers(try(d), fairlock.Answer{Again: patience, Place: -1}).Lengthens()},
		{Name: "A head of Redisson's is judged by its deadline, also while somebody holds",
			Before: state(a, List{b, c}, Deadlines{b: -time.Second, c: time.Hour}, nil),
			Call:   Answers(try(d), fairlock.Answer{Again: lease, Place: -1}).Lengthens(),
			After:  state(a, List{c}, Deadlines{c: time.Hour}, nil)},
		{Name: "A try leaves the deadline of a head of Redisson's as it is",
			Before: state("", List{b}, Deadlines{b: redisson}, nil),
			Call:   Answers(try(d), fairlock.Answer{Again: redisson, Place: -1}).Lengthens()},
		{Name: "A head without a deadline is stale",
			Before: state("", List{b, c}, Deadlines{c: time.Hour}, nil),
			Call:   Answers(try(d), fairlock.Answer{Again: time.Hour, Place: -1}).Lengthens(),
			After:  state("", List{c}, Deadlines{c: time.Hour}, nil), Messages: woken(c)},
		{Name: "Without a command nobody is woken, neither one of Redisson's",
			Before: state("", List{b, c}, Deadlines{c: time.Hour}, nil),
			Call:   Answers(quiet(d), fairlock.Answer{Again: time.Hour, Place: -1}).Lengthens(),
			After:  state("", List{c}, Deadlines{c: time.Hour}, nil)},
		{Name: "nor one of ours",
			Before: state("", List{b, c}, Deadlines{c: time.Hour}, Deadlines{c: patience}),
			Call:   Answers(quiet(d), fairlock.Answer{Again: patience, Place: -1}).Lengthens(),
			After:  state("", List{c}, Deadlines{c: time.Hour}, Deadlines{c: patience})},
		{Name: "A queue whose deadlines are gone blocks nobody",
			Before: state("", List{b, c, d}, nil, nil),
			Call:   Answers(acquire(a), mine).Lengthens(), After: state(a, nil, nil, nil)},
		{Name: "Deadlines without a queue are leftovers",
			Before: state("", nil, Deadlines{b: time.Hour}, Deadlines{c: time.Hour}),
			Call:   Answers(acquire(a), mine).Lengthens(), After: state(a, nil, nil, nil)},
		{Name: "Who lost the deadline alone gets it back at the same place",
			Before: state(a, List{b, c}, Deadlines{c: time.Hour}, Deadlines{b: patience, c: patience}),
			Call:   Answers(acquire(b), fairlock.Answer{Again: lease}).Lengthens(),
			After:  state(a, List{b, c}, Deadlines{b: fresh, c: time.Hour}, Deadlines{b: patience, c: patience})},
		{Name: "Another's that lost it gets it back too, or it would keep Redisson's waiting once it is next",
			Before: state(a, List{f, b, d}, Deadlines{b: time.Hour, d: 2 * time.Hour}, Deadlines{f: patience, b: patience}),
			Call:   Answers(acquire(b), fairlock.Answer{Again: lease, Place: 1}).Lengthens(),
			After:  state(a, List{f, b, d}, Deadlines{f: fresh, b: time.Hour, d: 2 * time.Hour}, Deadlines{f: patience, b: patience})},
		{Name: "Who lost it stands behind whoever was moved on in front",
			Before: state(a, List{b, d, c}, Deadlines{b: time.Second, d: time.Second + 2*redisson}, Deadlines{b: time.Second, c: time.Second}),
			Call:   Answers(acquire(b, w(c)), fairlock.Answer{Again: lease, Places: []int{1}}).Lengthens(),
			After:  state(a, List{b, d, c}, Deadlines{b: fresh, d: fresh + 2*redisson, c: fresh + 2*redisson + patience}, Deadlines{b: patience, c: patience})},
		{Name: "Who was removed stands at the end again",
			Before: state(a, List{c}, Deadlines{b: time.Hour, c: lease + patience}, Deadlines{b: patience, c: patience}),
			Call:   Answers(acquire(b), fairlock.Answer{Again: lease, Place: 1}).Lengthens(),
			After:  state(a, List{c, b}, Deadlines{b: lease + 2*patience, c: lease + patience}, Deadlines{b: patience, c: patience})},
		{Name: "A lock without TTL does not say when it ends",
			Before: State{key: {Value: Hash{a: "1"}}},
			Call:   Answers(try(b), fairlock.Answer{Again: -time.Millisecond, Place: -1})},
		{Name: "A key that is no lock is refused",
			Before: State{key: {Value: "7"}}, Call: Fails(acquire(a), "WRONGTYPE")},
		{Name: "A queue that is none is refused",
			Before: State{queue: {Value: "7"}}, Call: Fails(acquire(a), "WRONGTYPE")},
		{Name: "Deadlines that are none are refused",
			Before: State{timeouts: {Value: "7"}}, Call: Fails(acquire(a), "WRONGTYPE")},
		{Name: "What is kept of ours and is something else is refused",
			Before: State{living: {Value: "7"}}, Call: Fails(acquire(a), "WRONGTYPE")},
	})
}

func TestQueued(t *testing.T) {
	Table(t, []Row{
		{Name: "The owners, the next one first", Before: state("", List{b, c}, nil, nil), Call: Answers(fairlock.Queued(key), []string{b, c})},
		{Name: "Nobody", Before: free, Call: Answers(fairlock.Queued(key), []string{})},
	})
}

// The golden states of the protocol: B waits with Redisson's patience, C with five seconds, D with as many; C is Redisson's.
func TestGoldenStates(t *testing.T) {
	const five = 5 * time.Second
	take := func(owner string, patience time.Duration) scripts.Command[fairlock.Answer] {
		return plain(fairlock.Acquire(key, fairlock.Waiter{Owner: owner, Patience: patience}, lease, wake, nil, fairlock.Load{}))
	}
	onB, onC := lease+redisson, lease+redisson+five
	Sequence(t, []Row{
		{Name: "A acquires", Before: free, Call: Answers(take(a, redisson), mine), After: state(a, nil, nil, nil)},
		{Name: "B waits", Call: Answers(take(b, redisson), fairlock.Answer{Again: lease}).Lengthens(),
			After: state(a, List{b}, Deadlines{b: onB + redisson}, Deadlines{b: redisson})},
		{Name: "B asks again", Call: Answers(take(b, redisson), fairlock.Answer{Again: lease}).Lengthens()},
		{Name: "a stranger unlocks while A holds", Call: Answers(fairlock.Release(key, w(e), wake), false).Lengthens()},
	})
	Sequence(t, []Row{
		{Name: "D asks with the lock free", Before: state("", List{b, c}, Deadlines{b: onB, c: onC}, Deadlines{b: redisson}),
			Call:  Answers(take(d, five), fairlock.Answer{Again: redisson, Place: 1}).Lengthens(),
			After: state("", List{b, c, d}, Deadlines{b: onB, c: onC, d: onC + five}, Deadlines{b: redisson, d: five})},
		{Name: "B acquires", Call: Answers(take(b, redisson), mine).Lengthens(),
			After: state(b, List{c, d}, Deadlines{c: onC - redisson, d: onC + five - redisson}, Deadlines{d: five})},
		{Name: "D gives up", Call: Answers(fairlock.Release(key, fairlock.Waiter{Owner: d, Patience: five}, wake), false).Lengthens(),
			After: state(b, List{c}, Deadlines{c: onC - redisson}, nil)},
	})
}

// What our entry added is what it takes away again, so that deadlines of Redisson's keep Redisson's formula.
func TestADeadlineOfRedissonsIsWhatItWouldBeWithoutUsOnceWeAreGone(t *testing.T) {
	for name, row := range map[string]struct {
		holder, next string
		over         time.Duration // when the holder's lease is
		gone         scripts.Command[bool]
	}{
		"we leave":   {a, a, lease, fairlock.Release(key, w(b), wake)},
		"we acquire": {"", b, 0, scripts.Map(acquire(b), func(fairlock.Answer) bool { return false })},
	} {
		t.Run(name, func(t *testing.T) {
			Sequence(t, []Row{{
				Name: "Redisson's stood behind us",
				Before: state(row.holder, List{b, c}, Deadlines{b: row.over + patience, c: row.over + patience + redisson},
					Deadlines{b: patience}),
				Call: Answers(row.gone, false).Lengthens(), After: state(row.next, List{c}, Deadlines{c: lease + redisson}, nil),
			}})
		})
	}
}

func TestAMessageTellsTheLeaseOrThatTheLockMayBeFree(t *testing.T) {
	for text, lease := range map[string]time.Duration{
		"0": 0, "1": time.Millisecond, "30000": 30 * time.Second, "": 0, "x": 0, "-1": 0, "9223372036854775807": 0,
	} {
		require.Equal(t, lease, fairlock.LeaseOf(text), text)
	}
}
