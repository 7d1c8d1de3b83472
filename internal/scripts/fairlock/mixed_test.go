package fairlock_test

import (
	_ "embed"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/scripts/fairlock"
	"github.com/redlatch/redlatch/internal/test/redistest"
	. "github.com/redlatch/redlatch/internal/test/statetest"
)

// The queue is Redisson's and ours, or what should be beside it is gone.
func TestAMixedQueue(t *testing.T) {
	stale := -time.Minute
	Table(t, []Row{
		{Name: "An owner of the version before is one of Redisson's to us, and its set is left alone",
			Before: State{key: {Value: Hash{a: "1"}, TTL: lease}, queue: {Value: List{b}}, timeouts: {Value: Deadlines{b: lease + patience}},
				before: {Value: Deadlines{b: patience}}},
			Call: Answers(acquire(c), fairlock.Answer{Again: lease, Place: 1}).Lengthens(),
			After: State{key: {Value: Hash{a: "1"}, TTL: lease}, queue: {Value: List{b, c}},
				timeouts: {Value: Deadlines{b: lease + patience, c: lease + redisson + patience}},
				before:   {Value: Deadlines{b: patience}}, living: {Value: Deadlines{c: patience}, TTL: kept}}},
		{Name: "The set of ours is lost: who asks is in it again, and the others are Redisson's until they ask",
			Before: state(a, List{b, c}, Deadlines{b: fresh, c: fresh}, nil),
			Call:   Answers(acquire(b), fairlock.Answer{Again: lease}).Lengthens(),
			After:  state(a, List{b, c}, Deadlines{b: fresh, c: fresh}, Deadlines{b: patience})},
		{Name: "The queue is pure again with the last of them",
			Before: state(a, List{b, c}, Deadlines{b: fresh, c: fresh}, Deadlines{b: patience}),
			Call:   Answers(acquire(c), fairlock.Answer{Again: lease, Place: 1}).Lengthens(),
			After:  state(a, List{b, c}, Deadlines{b: fresh, c: fresh + patience}, Deadlines{b: patience, c: patience})},
		{Name: "Redisson has swept one of ours: the counts agree, and the head shows that they are wrong",
			Before: state(a, List{d, b}, Deadlines{d: redisson, b: fresh}, Deadlines{c: stale, b: patience}),
			Call:   Answers(acquire(b), fairlock.Answer{Again: lease, Place: 1}).Lengthens(),
			After:  state(a, List{d, b}, Deadlines{d: redisson, b: lease + redisson + patience}, Deadlines{b: patience})},
		{Name: "or the tail does, to one who comes",
			Before: state(a, List{b, d}, Deadlines{b: fresh, d: fresh + redisson}, Deadlines{b: patience, c: stale}),
			Call:   Answers(acquire(e), fairlock.Answer{Again: lease, Place: 1}).Lengthens(),
			After: state(a, List{b, d, e}, Deadlines{b: fresh, d: fresh + redisson, e: fresh + redisson + patience},
				Deadlines{b: patience, c: stale, e: patience})},
		{Name: "In the middle one of Redisson's goes unnoticed, and is not moved on, until the counts differ",
			Before: state(a, List{b, d, e}, Deadlines{b: time.Second, d: redisson, e: redisson}, Deadlines{b: patience, c: stale, e: patience}),
			Call:   Answers(acquire(b), fairlock.Answer{Again: lease}).Lengthens(),
			After:  state(a, List{b, d, e}, Deadlines{b: fresh, d: redisson, e: redisson}, Deadlines{b: patience, c: stale, e: patience})},
		{Name: "Whoever is not in the list is forgotten, so one of Redisson's can come again",
			Before: state(a, List{b, d}, Deadlines{b: fresh, d: fresh + redisson, e: time.Hour}, Deadlines{b: patience, c: stale}),
			Call:   Answers(acquire(b), fairlock.Answer{Again: lease}).Lengthens(),
			After:  state(a, List{b, d}, Deadlines{b: fresh, d: fresh + redisson}, Deadlines{b: patience})},
		{Name: "The list is lost: who asks comes to the end of a new one, whoever else stood in the old one",
			Before: state(a, nil, Deadlines{b: fresh, c: fresh, d: redisson}, Deadlines{b: patience, c: patience}),
			Call:   Answers(acquire(c, w(b)), fairlock.Answer{Again: lease, Places: []int{-1}}).Lengthens(),
			After:  state(a, List{c}, Deadlines{c: fresh}, Deadlines{c: patience})},
		{Name: "A deadline that Redisson has subtracted too much from comes back with the next sign of life",
			Before: state(a, List{b}, Deadlines{b: stale}, Deadlines{b: patience}),
			Call:   Answers(acquire(b), fairlock.Answer{Again: lease}).Lengthens(),
			After:  state(a, List{b}, Deadlines{b: fresh}, Deadlines{b: patience})},
	})
}

// The scripts of the version whose waiters were known by another sorted set, and whose deadlines were always a chain.
var (
	//go:embed testdata/acquire_before.txt
	acquireBefore string
	//go:embed testdata/release_before.txt
	releaseBefore string
)

const before = "redlatch_lock_waiters:{f}" // the set of that version

// A crowd is a fair lock and those who use it: processes of ours, of the version before, and of Redisson's.
type crowd struct {
	*testing.T
	random *rand.Rand
	mini   *miniredis.Miniredis
	client *redis.Client
	now    time.Time

	came   int       // owners so far
	queue  []*person // in the order of arrival
	holder *person
	until  time.Time // when the holder gives back
	freed  time.Time
	spoke  map[string]time.Time // by process: the last sign of life
	log    []string
}

// A person is one owner. Its process is the first letter: A and B are ours, O is old, J is Redisson's.
type person struct {
	owner    string
	patience time.Duration // of Redisson's: what it waits at most, or five minutes
	leaves   time.Time     // zero: it waits for as long as it takes
	dead     bool
}

func (p *person) process() string { return p.owner[:1] }

// Whoever lives keeps its place, whoever else stands in the queue: it is served in the order of arrival, and is in the list
// until then. Those who live in a process of ours give a sign of life each three seconds; one of Redisson's asks within
// three seconds once it is next to a free lock.
func TestWhoLivesKeepsItsPlaceInAMixedQueue(t *testing.T) {
	for _, processes := range []string{"AB", "ABJ", "AO", "ABOJ"} {
		t.Run(processes, func(t *testing.T) {
			mini, client := redistest.InMemory(t)
			for seed := range uint64(4) {
				c := &crowd{T: t, random: rand.New(rand.NewPCG(seed, 5)), mini: mini, client: client,
					now: time.UnixMilli(1795224553683), spoke: make(map[string]time.Time)}
				mini.FlushAll()
				mini.SetTime(c.now)
				for range 150 {
					c.step(processes)
				}
				lives := func(p *person) bool { return !p.dead }
				for range 2000 { // nobody comes any more
					if !slices.ContainsFunc(c.queue, lives) && c.holder == nil {
						break
					}
					c.step("")
				}
				require.False(t, slices.ContainsFunc(c.queue, lives), "seed %d: somebody waits for ever\n%s", seed, strings.Join(c.log, "\n"))
			}
		})
	}
}

func (c *crowd) note(format string, args ...any) {
	c.log = append(c.log, c.now.Format("05.000 ")+fmt.Sprintf(format, args...))
}

func (c *crowd) step(processes string) {
	later := time.Duration(c.random.IntN(1500)) * time.Millisecond
	c.now = c.now.Add(later)
	c.mini.FastForward(later)
	c.mini.SetTime(c.now)
	for _, p := range []string{"A", "B", "O"} {
		if c.now.Sub(c.spoke[p]) >= 3*time.Second-1500*time.Millisecond {
			c.live(p)
		}
	}
	switch n := c.random.IntN(10); {
	case processes == "":
	case n < 4 && len(c.queue) < 12:
		c.come(processes[c.random.IntN(len(processes))])
	case n == 4 && len(c.queue) > 0:
		c.leave(c.queue[c.random.IntN(len(c.queue))])
	case n == 5 && len(c.queue) > 0 && c.random.IntN(2) == 0:
		dies := c.queue[c.random.IntN(len(c.queue))]
		dies.dead = true
		c.note("%s dies", dies.owner)
	}
	for _, p := range slices.Clone(c.queue) {
		if !p.leaves.IsZero() && !c.now.Before(p.leaves) {
			c.leave(p)
		}
	}
	switch {
	case c.holder != nil && !c.now.Before(c.until):
		c.free()
	case c.holder == nil:
		c.turn()
	}
	c.check()
}

// check compares the list with those who must be in it.
func (c *crowd) check() {
	list := c.client.LRange(c.Context(), queue, 0, -1).Val()
	c.queue = slices.DeleteFunc(c.queue, func(p *person) bool { return p.dead && !slices.Contains(list, p.owner) })
	var want []string
	for _, p := range c.queue {
		want = append(want, p.owner)
	}
	if !slices.Equal(want, list) {
		c.Fatalf("the queue is %v, should be %v\n%s", list, want, strings.Join(c.log, "\n"))
	}
}

func (c *crowd) come(process byte) {
	c.came++
	p := &person{owner: fmt.Sprintf("%c:%d", process, c.came), patience: patience}
	if process == 'J' {
		p.patience = redisson
		if c.random.IntN(2) == 0 {
			p.patience = time.Duration(3+c.random.IntN(20)) * time.Second
			p.leaves = c.now.Add(p.patience)
		}
	}
	c.queue = append(c.queue, p)
	if held := c.ask(p); !held {
		c.note("%s waits", p.owner)
	}
}

// ask is an acquisition by somebody who stands in the queue, or comes.
func (c *crowd) ask(p *person, others ...*person) (held bool) {
	switch p.process() {
	case "J":
		held = c.redissonAsks(p)
	case "O":
		args := []any{p.owner, lease.Milliseconds(), p.patience.Milliseconds(), "PUBLISH", channel}
		for _, other := range others {
			args = append(args, other.owner, other.patience.Milliseconds())
		}
		reply, err := c.client.Eval(c.Context(), acquireBefore, c.keysBefore(), args...).Int64Slice()
		require.NoError(c, err)
		held = reply[0] == 1
	default:
		var waiters []fairlock.Waiter
		for _, other := range others {
			waiters = append(waiters, w(other.owner))
		}
		answer, err := Send(c.Context(), c.client, acquire(p.owner, waiters...))
		require.NoError(c, err)
		held = answer.Held
		if !held {
			require.Equal(c, c.client.LIndex(c.Context(), queue, 0).Val() == p.owner, answer.Place == 0, "whether %s is next\n%s", p.owner, strings.Join(c.log, "\n"))
		}
	}
	if held {
		c.overtakes(p)
		c.note("%s holds", p.owner)
		c.queue, c.holder = c.queue[1:], p
		c.until = c.now.Add(time.Duration(c.random.IntN(6000)) * time.Millisecond)
	}
	return held
}

// overtakes fails where somebody who lives was in front.
func (c *crowd) overtakes(p *person) {
	for len(c.queue) > 0 && c.queue[0] != p && c.queue[0].dead {
		c.queue = c.queue[1:]
	}
	if c.queue[0] != p {
		c.Fatalf("%s was overtaken by %s\n%s", c.queue[0].owner, p.owner, strings.Join(c.log, "\n"))
	}
}

func (c *crowd) keysBefore() []string {
	return []string{key, queue, timeouts, before}
}

// live is the sign of life of a process, by the first of it that waits.
func (c *crowd) live(process string) {
	var ours []*person
	for _, p := range c.queue {
		if p.process() == process && !p.dead {
			ours = append(ours, p)
		}
	}
	c.spoke[process] = c.now
	if len(ours) > 0 {
		c.ask(ours[0], ours[1:]...)
	}
}

// turn lets the next take the free lock, soon.
func (c *crowd) turn() {
	if len(c.queue) == 0 {
		return
	}
	next := c.queue[0]
	if i := slices.IndexFunc(c.queue, func(p *person) bool { return !p.dead && p.process() == "J" }); next.dead && i >= 0 {
		c.ask(c.queue[i]) // it asks without pause while the lock is free
	} else if !next.dead && (c.random.IntN(2) == 0 || c.now.Sub(c.freed) > 1500*time.Millisecond) {
		require.True(c, c.ask(next), "%s is next to a free lock\n%s", next.owner, strings.Join(c.log, "\n"))
	}
}

func (c *crowd) leave(p *person) {
	if p.dead {
		return
	}
	c.note("%s leaves", p.owner)
	if p.process() == "J" {
		list := c.client.LRange(c.Context(), queue, 0, -1).Val()
		for _, behind := range list[slices.Index(list, p.owner)+1:] {
			c.client.ZIncrBy(c.Context(), timeouts, -float64(p.patience.Milliseconds()), behind)
		}
		c.client.ZRem(c.Context(), timeouts, p.owner)
		c.client.LRem(c.Context(), queue, 0, p.owner)
	} else {
		c.release(p)
	}
	c.queue = slices.DeleteFunc(c.queue, func(other *person) bool { return other == p })
}

func (c *crowd) free() {
	c.note("%s releases", c.holder.owner)
	if c.holder.process() == "J" {
		c.redissonSweeps()
		c.client.Del(c.Context(), key)
	} else {
		c.release(c.holder)
	}
	c.holder, c.freed = nil, c.now
}

func (c *crowd) release(p *person) {
	var err error
	if p.process() == "O" {
		err = c.client.Eval(c.Context(), releaseBefore, c.keysBefore(), p.owner, "PUBLISH", channel, p.patience.Milliseconds()).Err()
	} else {
		_, err = Send(c.Context(), c.client, fairlock.Release(key, w(p.owner), scripts.Wake{Publish: "PUBLISH", Channel: channel}))
	}
	require.NoError(c, err)
}

func (c *crowd) redissonSweeps() {
	for {
		head, err := c.client.LIndex(c.Context(), queue, 0).Result()
		if err != nil {
			return
		}
		score, err := c.client.ZScore(c.Context(), timeouts, head).Result()
		require.NoError(c, err, "the head %s has no deadline, so Redisson's wait for ever\n%s", head, strings.Join(c.log, "\n"))
		if int64(score) > c.now.UnixMilli() {
			return
		}
		c.note("Redisson sweeps %s", head)
		c.client.ZRem(c.Context(), timeouts, head)
		c.client.LPop(c.Context(), queue)
	}
}

// redissonAsks is Redisson's acquisition, as the protocol tells it.
func (c *crowd) redissonAsks(p *person) (held bool) {
	ctx := c.Context()
	c.redissonSweeps()
	head := c.client.LIndex(ctx, queue, 0).Val()
	if !c.mini.Exists(key) && (head == "" || head == p.owner) {
		c.client.LPop(ctx, queue)
		c.client.ZRem(ctx, timeouts, p.owner)
		for _, member := range c.client.ZRange(ctx, timeouts, 0, -1).Val() {
			c.client.ZIncrBy(ctx, timeouts, -float64(p.patience.Milliseconds()), member)
		}
		c.client.HSet(ctx, key, p.owner, 1)
		c.client.PExpire(ctx, key, lease)
		return true
	}
	if c.client.ZScore(ctx, timeouts, p.owner).Err() == nil {
		return false
	}
	left := max(c.mini.TTL(key), 0)
	if last := c.client.LIndex(ctx, queue, -1).Val(); last != "" {
		score, err := c.client.ZScore(ctx, timeouts, last).Result()
		require.NoError(c, err)
		left = time.UnixMilli(int64(score)).Sub(c.now)
	}
	if !c.deadTail() {
		require.GreaterOrEqual(c, left, time.Duration(0), "%s comes behind a deadline that is over\n%s", p.owner, strings.Join(c.log, "\n"))
	}
	c.client.ZAdd(ctx, timeouts, redis.Z{Member: p.owner, Score: float64(c.now.Add(left + p.patience).UnixMilli())})
	c.client.RPush(ctx, queue, p.owner)
	return false
}

// deadTail is whether the one in front of the last, who has just come, is dead.
func (c *crowd) deadTail() bool { return len(c.queue) > 1 && c.queue[len(c.queue)-2].dead }
