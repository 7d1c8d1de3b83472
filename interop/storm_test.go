package interop_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

const redisNil = redis.Nil

// stormLease is the watchdog timeout and the lease of permits in most storms.
const stormLease = 4 * time.Second

const stormThreads = 4 // of each process

// A plan is what a storm is made of.
type plan struct {
	goProcesses, jvms int
	grants            int
	lease             time.Duration // 0: stormLease
	objects           []stormObject
	permits           map[string]int // of the objects that have permits
	killGo, killJava  bool           // else those only stand still
	events            int            // at least
}

// stormKinds are the locks of a storm; files of further kinds add theirs.
var stormKinds = []stormObject{
	{Kind: "lock", Name: "storm-lock"},
	{Kind: "nonreentrant", Name: "storm-nonreentrant"},
	{Kind: "rw", Name: "storm-rw"},
	{Kind: "spin", Name: "storm-spin"},
	{Kind: "fenced", Name: "storm-fenced"},
	{Kind: "fair", Name: "storm-fair"},
	{Kind: "permits", Name: "storm-permits"},
}

func TestAMixedStormAdmitsNobodyTwice(t *testing.T) {
	w := singleWorld(t)
	blow(t, w, plan{
		goProcesses: 4, jvms: 2, grants: 10_000, events: 18, killGo: true, killJava: true,
		objects: stormKinds, permits: map[string]int{"storm-permits": 3},
	})
}

// A plain semaphore has no owners: who dies takes permits along. So here nobody dies.
func TestAStormOnASemaphoreLosesAndInventsNoPermit(t *testing.T) {
	w := singleWorld(t)
	blow(t, w, plan{
		goProcesses: 2, jvms: 1, grants: 1500, events: 6,
		objects: []stormObject{{Kind: "semaphore", Name: "storm-semaphore"}}, permits: map[string]int{"storm-semaphore": 3},
	})
}

// Everybody waits for one lock, so whoever is killed stood in its queue.
func TestAStormOnAFairLockAdmitsNobodyTwice(t *testing.T) {
	w := singleWorld(t)
	blow(t, w, plan{
		goProcesses: 4, jvms: 2, grants: 3000, events: 18, killGo: true, killJava: true,
		objects: []stormObject{{Kind: "fair", Name: "storm-fair"}},
	})
}

// Waiters whose watchdog timeout is shorter than the lease of a pass sit in no row. Here everybody does who can.
func TestAStormOnLocksThatArePassedAdmitsNobodyTwice(t *testing.T) {
	w := singleWorld(t)
	told := w.client.PSubscribe(t.Context(), "redlatch_lock_row:*")
	_, err := told.Receive(t.Context()) // the server's confirmation
	require.NoError(t, err)
	messages := 0
	all := start(func() error {
		for range told.Channel() {
			messages++
		}
		return nil
	})
	defer told.Close()
	blow(t, w, plan{
		goProcesses: 4, jvms: 2, grants: 3000, events: 6, killGo: true, killJava: true, lease: passLease,
		objects: []stormObject{
			{Kind: "lock", Name: "storm-lock"}, {Kind: "nonreentrant", Name: "storm-nonreentrant"}, {Kind: "fenced", Name: "storm-fenced"},
		},
	})
	require.NoError(t, told.Close())
	await(t, "the end of the messages", all)
	t.Logf("passed %d times", messages)
	require.Greater(t, messages, 100)
}

// blow runs the storm, and returns when it is over and everything was looked at.
func blow(t *testing.T, w *world, p plan) {
	t.Helper()
	if p.lease == 0 {
		p.lease = stormLease
	}
	for name, n := range p.permits {
		done, err := w.golang(t).setUp(permitsObject(p, name), int64(n))
		require.NoError(t, err)
		require.True(t, done)
	}
	s := &storm{t: t, w: w, p: p, witness: newWitness(t, p.goProcesses+p.jvms, p.permits)}
	t.Cleanup(s.end)
	for i := range p.goProcesses {
		s.workers = append(s.workers, &worker{name: fmt.Sprintf("go-%d", i)})
	}
	for i := range p.jvms {
		s.workers = append(s.workers, &worker{name: fmt.Sprintf("java-%d", i), java: true})
	}
	began := time.Now()
	for _, one := range s.workers {
		s.start(one)
	}
	for events := 0; ; {
		total, _ := s.witness.seen()
		if total >= p.grants && events >= p.events {
			break
		}
		require.Less(t, time.Since(began), 4*time.Minute, "%d grants and %d events are too few for the time", total, events)
		if total >= p.grants*(events+1)/(p.events+1) { // spread over the grants, and some more while those are made up for
			s.event(events)
			events++
		}
		time.Sleep(10 * time.Millisecond)
	}
	s.witness.stop()
	for _, one := range s.workers {
		s.await(one)
	}
	s.judge(time.Since(began))
	s.clean()
}

func permitsObject(p plan, name string) object {
	i := slices.IndexFunc(p.objects, func(o stormObject) bool { return o.Name == name })
	return object{kind: p.objects[i].Kind, name: name}
}

type storm struct {
	t       *testing.T
	w       *world
	p       plan
	witness *witness
	workers []*worker
	killed  map[string]int
	paused  int
	slept   int // longer than the leases
}

// A worker is a process of a storm, replaced by another of the same name when it was killed.
type worker struct {
	name string
	java bool
	jvm  *jvm
	cmd  *exec.Cmd
	out  tail
	errs tail
	done chan struct{} // closed when the process has ended
	sum  tally

	slept int // since its last start, for longer than the leases
}

func (s *storm) order(one *worker) order {
	o := order{
		Process: one.name, Witness: s.witness.port(), Threads: stormThreads, Objects: s.p.objects,
		Lease: s.p.lease.Milliseconds(), Wait: 3000,
		Mode: s.w.config["mode"].(string), Addresses: s.w.config["addresses"].([]string),
	}
	o.Master, _ = s.w.config["master"].(string)
	return o
}

func (s *storm) start(one *worker) {
	one.done = make(chan struct{})
	one.out, one.errs, one.slept = tail{}, tail{}, 0
	if one.java {
		s.startJava(one)
		return
	}
	program, err := os.Executable()
	require.NoError(s.t, err)
	one.cmd = exec.Command(program)
	one.cmd.Env = append(os.Environ(), workerVariable+"=1", "GOMAXPROCS=2")
	text, err := json.Marshal(s.order(one))
	require.NoError(s.t, err)
	one.cmd.Stdin = strings.NewReader(string(text))
	one.cmd.Stdout, one.cmd.Stderr = &one.out, &one.errs
	require.NoError(s.t, one.cmd.Start())
	go func() {
		_ = one.cmd.Wait() // the tally tells whether it went well
		close(one.done)
	}()
}

func (s *storm) startJava(one *worker) {
	var err error
	one.jvm, err = startJVM()
	require.NoError(s.t, err)
	one.cmd = one.jvm.cmd
	command := fields{"op": "open", "client": "storm", "codec": "string", "watchdog": s.p.lease.Milliseconds()}
	for name, value := range s.w.config {
		command[name] = value
	}
	text, err := json.Marshal(s.order(one))
	require.NoError(s.t, err)
	run := fields{}
	require.NoError(s.t, json.Unmarshal(text, &run))
	run["op"], run["client"] = "storm", "storm"
	go func(j *jvm, done chan struct{}) {
		defer close(done)
		if err := j.call(command, nil); err != nil {
			one.errs.Write([]byte(err.Error()))
			return
		}
		reply, err := j.send(run)
		if err != nil {
			one.errs.Write([]byte(err.Error()))
			return
		}
		a := <-reply
		one.out.Write(a.Result)
		one.errs.Write([]byte(a.Error))
	}(one.jvm, one.done)
}

// event lets something happen to a worker, each kind in turn.
func (s *storm) event(number int) {
	anyone := s.workers[rand.IntN(len(s.workers))]
	switch kind := number % 6; {
	case kind == 0 && s.p.killGo:
		s.kill(s.workers[rand.IntN(s.p.goProcesses)])
	case kind == 3 && s.p.killJava:
		s.kill(s.workers[s.p.goProcesses+rand.IntN(s.p.jvms)])
	case kind == 5 && (s.p.killGo || s.p.killJava): // for longer than all leases: others get what it has
		s.slept++
		anyone.slept++
		s.sleep(anyone, s.p.lease/2)
		s.witness.void(anyone.name)
		time.Sleep(s.p.lease)
		s.wake(anyone)
	default:
		s.paused++
		s.sleep(anyone, time.Duration(50+rand.IntN(700))*time.Millisecond)
		s.wake(anyone)
	}
}

func (s *storm) sleep(one *worker, d time.Duration) {
	require.NoError(s.t, one.cmd.Process.Signal(syscall.SIGSTOP))
	time.Sleep(d)
}

func (s *storm) wake(one *worker) {
	require.NoError(s.t, one.cmd.Process.Signal(syscall.SIGCONT))
}

func (s *storm) kill(one *worker) {
	if s.killed == nil {
		s.killed = map[string]int{}
	}
	language, _, _ := strings.Cut(one.name, "-")
	s.killed[language]++
	s.destroy(one)
	s.start(one)
}

func (s *storm) destroy(one *worker) {
	if one.java {
		one.jvm.kill()
	} else {
		_ = one.cmd.Process.Kill()
	}
	<-one.done
}

// await returns when the worker has ended by itself, with its tally.
func (s *storm) await(one *worker) {
	select {
	case <-one.done:
	case <-time.After(patience):
		s.t.Fatalf("%s does not end: %s", one.name, one.errs.String())
	}
	require.NoError(s.t, json.Unmarshal([]byte(one.out.String()), &one.sum), "%s: %s%s", one.name, one.out.String(), one.errs.String())
	if one.java {
		one.jvm.stop()
	}
}

// end is for a storm that failed: nothing of it may go on.
func (s *storm) end() {
	s.witness.stop()
	for _, one := range s.workers {
		if one.cmd != nil && one.cmd.ProcessState == nil {
			s.destroy(one)
		}
	}
}

func (s *storm) judge(took time.Duration) {
	w := s.witness
	w.mu.Lock()
	defer w.mu.Unlock()
	s.t.Logf("%d grants in %v, %d of them to Go and %d to Java; %v killed, %d paused, %d asleep for longer than their leases; "+
		"%d excused, %d refused; by object %v", w.total, took.Round(time.Millisecond), w.granted["go"], w.granted["java"],
		s.killed, s.paused, s.slept, w.excused, w.refused, w.granted)
	require.Empty(s.t, w.violations[:min(len(w.violations), 10)], "%d violations", len(w.violations))
	require.GreaterOrEqual(s.t, w.total, s.p.grants)
	require.Greater(s.t, w.granted["go"], s.p.grants/20, "Go had hardly a part in it")
	require.Greater(s.t, w.granted["java"], s.p.grants/20, "Java had hardly a part in it")
	for _, o := range s.p.objects {
		require.NotZero(s.t, w.granted[o.Name], o.Name)
	}
	// Whoever asked, or was in, when it fell asleep: a handful for each sleep.
	require.LessOrEqual(s.t, w.excused, s.slept*8)
	for _, one := range s.workers {
		s.t.Logf("%s, since its last start: %+v", one.name, one.sum)
		require.Empty(s.t, one.sum.Odd, one.name)
		// What a process has asked for when it falls asleep may be granted, and the lease be over when it wakes.
		require.LessOrEqual(s.t, one.sum.Late, one.slept*stormThreads, one.name)
		// The time for which a release waits is over when a process wakes that fell asleep during it.
		require.LessOrEqual(s.t, one.sum.Unconfirmed, one.slept*stormThreads, one.name)
	}
}

// clean takes every object once more from each side, and then looks at what is left in Redis: what has a limited time,
// the counters of tokens and permits, and nothing else.
func (s *storm) clean() {
	for _, o := range s.p.objects {
		if n, counted := s.p.permits[o.Name]; counted {
			for _, a := range []actor{s.w.java(s.t), s.w.golang(s.t)} {
				eventually(s.t, "all permits to come back", func() bool { return available(s.t, a, permitsObject(s.p, o.Name)) == int64(n) })
			}
			continue
		}
		kind := o.Kind
		if kind == "rw" {
			kind = "write"
		}
		object := object{kind: kind, name: o.Name, names: strings.Join(o.Names, " ")}
		for _, a := range []actor{s.w.golang(s.t), s.w.java(s.t)} {
			require.NoError(s.t, a.lock(object, how{}))
			require.NoError(s.t, a.unlock(object))
		}
	}
	ctx := context.Background()
	var wrong, limited []string
	for _, node := range s.w.nodes {
		keys, err := node.Keys(ctx, "*").Result()
		require.NoError(s.t, err)
		for _, key := range keys {
			ttl := node.PTTL(ctx, key).Val()
			_, counter := s.p.permits[key]
			group := slices.ContainsFunc(s.p.objects, func(o stormObject) bool { return o.Kind == "group" && o.Name == key })
			switch {
			case strings.HasPrefix(key, "redisson_lock_token:"), counter:
				require.Negative(s.t, ttl, key)
			case strings.HasPrefix(key, "redlatch_lanes:") && ttl > 0 && ttl <= 150*time.Second,
				strings.HasPrefix(key, "redlatch_latch:") && ttl > 0 && ttl <= 48*time.Hour,
				strings.HasPrefix(key, "redisson_unlock_latch:") && ttl > 0 && ttl <= 20*time.Second,
				strings.HasPrefix(key, "redlatch_client") && ttl > 0 && ttl <= 11*time.Minute,   // entries of who was killed: a lease and ten minutes
				strings.HasPrefix(key, "redlatch_lock_row:") && ttl > 0 && ttl <= 6*time.Second, // of who was killed: two polls
				strings.Contains(key, ":rwlock_timeout:") && ttl > 0 && ttl <= s.p.lease,
				group && ttl > 0 && ttl <= 31*time.Second && ofTheDead(node.HGetAll(ctx, key).Val(), time.Now()): // Redisson's way
				limited = append(limited, key)
			case ttl == -2: // ended meanwhile
			default:
				wrong = append(wrong, fmt.Sprintf("%s for %v: %v", key, ttl, node.HGetAll(ctx, key).Val()))
			}
		}
	}
	s.t.Logf("%d keys with a limited time are left", len(limited))
	require.Empty(s.t, wrong)
}
