// Package dispatch takes commands to the server. Each command is sent once.
//
// # Nouns
//
// A node is one server, with its own queue. A request is a command that waits in the queue of a node or is
// under way. A trip is one round trip, with one command or a pipeline of several. A leader is a goroutine
// that makes trips: it takes requests from the queue, sends them, and gives each its reply. The goroutine of
// a caller can be a leader. A worker is a goroutine of this package that leads for callers that may leave. A
// courier is a faster way to a worker, for a caller that is alone. A straggler is a trip that takes much
// longer than the shortest one.
//
// # Group commit
//
// Callers that come at the same time share round trips: while the leaders of a node are under way, what
// arrives waits in a queue, and each leader that comes back takes a share of it as one pipeline. How many
// leaders there may be follows from the shortest round trip; see rtt.go and straggler.go.
//
// # Which goroutine sends
//
// The client library does not honour the cancellation of a command in flight. So a caller whose context can
// end must not send its command itself: it could not leave before the reply.
//
//	context of the caller       other callers   the command is sent by
//	--------------------------  --------------  ------------------------------------------------
//	cannot end, or is a Limit   any             the caller, as a leader
//	can end                     none            a worker, by the courier where the system has one
//	can end                     some            a worker
//
// # For a caller
//
// A caller that leaves before its reply does not learn whether the command was executed, unless the command
// was still in the queue. A panic of a hook of the client is raised again on the goroutine of the caller that
// sent the command, or is logged where no caller waits.
package dispatch

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/lockorder"
	"github.com/redlatch/redlatch/internal/outcome"
	"github.com/redlatch/redlatch/internal/raise"
)

// Client is what the dispatcher needs of a redis client.
type Client interface {
	Process(ctx context.Context, cmd redis.Cmder) error
	Pipeline() redis.Pipeliner
}

// Cluster is what only a cluster client has.
type Cluster interface {
	MasterForKey(ctx context.Context, key string) (*redis.Client, error)
	ReloadState(ctx context.Context)
}

// A Dispatcher sends the commands of one client.
type Dispatcher struct {
	client  Client
	cluster Cluster // nil for one server
	linger  func() time.Duration
	one     *node    // of a client that is not a cluster
	nodes   sync.Map // *redis.Client of a master -> *node
	narrow  narrowing
	read    time.Duration             // the client's read timeout; 0 when it is not known or there is none
	located atomic.Bool               // the cluster's topology has been loaded once
	endings atomic.Pointer[[]*ending] // the latest that limited contexts share

	// These are set once, before the first command, or are nil. They must not block.

	OnTrouble func()             // called after errors that may mean that the primary has changed
	OnStray   func(*raise.Panic) // with each panic of a hook for which no caller waits any more
	OnNarrow  func(error)        // once in a while, with the reason for which a script is sent with fewer keys
}

// New makes a dispatcher. cluster is nil where there is one server, or where the client hides that there are
// more. linger tells how long idle workers stay, at least.
func New(client Client, cluster Cluster, linger func() time.Duration) *Dispatcher {
	d := &Dispatcher{client: client, cluster: cluster, linger: linger}
	d.one = newNode(d, client)
	switch client := client.(type) {
	case interface{ Options() *redis.Options }:
		d.read = max(0, client.Options().ReadTimeout)
	case interface{ Options() *redis.ClusterOptions }:
		d.read = max(0, client.Options().ReadTimeout)
	}
	return d
}

// Single tells whether the client is known to be one of a single server, which follows no redirection of a
// cluster.
func (d *Dispatcher) Single() bool {
	_, single := d.client.(*redis.Client)
	return single
}

// ReadTimeout is how long the client waits for a reply; 0 when that is not known, or for ever.
func (d *Dispatcher) ReadTimeout() time.Duration { return d.read }

// Used tells whether a server has answered a command.
func (d *Dispatcher) Used() bool { return d.one.answered.Load() != 0 || d.located.Load() }

// promptWithin is how recent a success has to be for the next command to be expected to succeed.
const promptWithin = time.Second

// Prompt tells whether a command that is sent now with a context of Limit can be expected to end within
// limit, even if no caller watches it: the server has just answered, so a connection is there, and if it
// falls silent now the client gives up in time.
func (d *Dispatcher) Prompt(key string, limit time.Duration, now time.Time) bool {
	if d.read == 0 || d.read > limit {
		return false
	}
	n := d.known(key)
	if n == nil {
		return false
	}
	// less than 0 if others were answered meanwhile, or the clock was set back
	since := time.Duration(now.UnixNano() - n.answered.Load())
	return -promptWithin < since && since < promptWithin
}

// known is the queue of the master that has key, nil while that is not known.
func (d *Dispatcher) known(key string) *node {
	if d.cluster == nil {
		return d.one
	}
	if !d.located.Load() {
		return nil
	}
	n, err := d.node(context.Background(), key)
	if err != nil {
		return nil
	}
	return n
}

// Trip is the shortest time that a round trip to the server of key took lately, 0 when that is not known.
func (d *Dispatcher) Trip(key string) time.Duration {
	lockorder.Unlocked("a cluster client is asked for a server")
	n := d.known(key)
	if n == nil {
		return 0
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.rtt.shortest()
}

// A Route says how a command finds its server.
type Route int

const (
	ToMaster Route = iota // by the topology that is known, together with others
	Follow                // by the cluster client, alone, which follows redirections
)

// Do sends cmd, whose first key is key, and waits for its reply or for the end of ctx. The error is the
// command's own, or ctx's: as *InFlight when the command had left, as *outcome.Unsent when it was never sent.
// Do panics when a hook of the client does, unless ctx is one of raise.Background.
func (d *Dispatcher) Do(ctx context.Context, key string, cmd redis.Cmder, route Route) (err error) {
	if !raise.Unattended(ctx) {
		return d.do(ctx, key, cmd, route)
	}
	raise.Here(func() { err = d.do(ctx, key, cmd, route) }, func(p *raise.Panic) {
		p.Raise(ctx)
		undone(cmd)
		err = cmd.Err()
	})
	return err
}

func (d *Dispatcher) do(ctx context.Context, key string, cmd redis.Cmder, route Route) error {
	lockorder.Unlocked("a command is sent")
	if err := ctx.Err(); err != nil {
		return &outcome.Unsent{Err: err}
	}
	if d.cluster == nil {
		return d.one.do(ctx, cmd)
	}
	if route == Follow {
		return d.alone(ctx, func(ctx context.Context) { _ = d.client.Process(ctx, cmd) }, cmd)
	}
	n, err := d.node(ctx, key)
	if err != nil {
		return err
	}
	return n.do(ctx, cmd)
}

// node finds the queue of the master that has key. The first look-up may load the topology over the network,
// without regard to ctx; the later ones are a table look-up.
func (d *Dispatcher) node(ctx context.Context, key string) (*node, error) {
	master, err := d.master(ctx, key)
	if err != nil {
		return nil, err
	}
	if n, ok := d.nodes.Load(master); ok {
		return n.(*node), nil
	}
	d.forget()
	n, _ := d.nodes.LoadOrStore(master, newNode(d, master))
	return n.(*node), nil
}

// forgetAfter is how long a master may say nothing before its queue is forgotten when another one appears.
// The queue of one that has not left is made anew.
const forgetAfter = time.Minute

// forget drops the queues of masters that may have left the cluster, with their closed clients. A caller
// that still waits in such a queue is served by it.
func (d *Dispatcher) forget() {
	limit := time.Now().Add(-forgetAfter).UnixNano()
	d.nodes.Range(func(master, n any) bool {
		if n := n.(*node); max(n.made, n.answered.Load()) < limit {
			d.nodes.Delete(master)
		}
		return true
	})
}

func (d *Dispatcher) master(ctx context.Context, key string) (*redis.Client, error) {
	if d.located.Load() || ctx.Done() == nil {
		return d.locate(ctx, key)
	}
	var master *redis.Client
	var err error
	left := d.apart(ctx, func(ctx context.Context) { master, err = d.locate(ctx, key) })
	if left != nil {
		return nil, &outcome.Unsent{Err: ctx.Err()}
	}
	return master, err
}

// locate fails as the loading of the topology did, with a read that timed out for example. That says nothing
// about the command, which still waits for its address.
func (d *Dispatcher) locate(ctx context.Context, key string) (*redis.Client, error) {
	master, err := d.cluster.MasterForKey(ctx, key)
	if err != nil {
		return nil, &outcome.Unsent{Err: err}
	}
	d.located.Store(true)
	return master, nil
}

// Reload is for errors that may mean that the primary has changed. A cluster client then looks at the
// topology again, in the background; by itself it does so once a minute.
func (d *Dispatcher) Reload(ctx context.Context) {
	if d.OnTrouble != nil {
		d.OnTrouble()
	}
	if d.cluster != nil {
		d.cluster.ReloadState(ctx)
	}
}

// Synced sends cmd and a WAIT for replicas in one pipeline on one connection of the key's master. WAIT speaks
// of its connection's last write, so nothing else is correct. The error is cmd's, as with Do; the WAIT, whose
// value is the number of replicas that acknowledged, has its own.
func (d *Dispatcher) Synced(ctx context.Context, key string, cmd redis.Cmder, replicas int,
	timeout time.Duration) (*redis.IntCmd, error) {
	lockorder.Unlocked("a command is sent")
	if err := ctx.Err(); err != nil {
		return nil, &outcome.Unsent{Err: err}
	}
	client := d.client
	if d.cluster != nil {
		master, err := d.master(ctx, key)
		if err != nil {
			return nil, err
		}
		client = master
	}
	// a 0 would wait for ever
	wait := redis.NewIntCmd(ctx, "wait", replicas, (timeout + time.Millisecond - 1).Milliseconds())
	err := d.alone(ctx, func(ctx context.Context) {
		pipe := client.Pipeline()
		_ = pipe.Process(ctx, cmd)
		_ = pipe.Process(ctx, wait)
		_ = Exec(ctx, pipe) // both have their own errors
	}, cmd)
	return wait, err
}

// Exec sends what is in a pipeline and returns its first error; every command has its own afterwards. The
// client library leaves the commands without one when the server refuses a new connection by a reply, as it
// does with a password that is out of date, and when a hook of the program lets none of them through. They
// were not executed then, and would look as if the server had answered 0 to each.
func Exec(ctx context.Context, pipe redis.Pipeliner) error {
	cmds, err := pipe.Exec(ctx)
	if err == nil || slices.ContainsFunc(cmds, func(cmd redis.Cmder) bool { return cmd.Err() != nil }) {
		return err
	}
	for _, cmd := range cmds {
		cmd.SetErr(err)
	}
	return err
}

// alone runs send on a goroutine of its own.
func (d *Dispatcher) alone(ctx context.Context, send func(ctx context.Context), cmd redis.Cmder) error {
	left := d.apart(ctx, func(ctx context.Context) {
		returned := false
		defer raise.Unless(&returned, func() { undone(cmd) })
		send(ctx)
		returned = true
	})
	if left != nil {
		return &InFlight{cause: ctx.Err(), cmd: cmd, done: left}
	}
	return cmd.Err()
}

// apart runs fn on a goroutine of its own, with the values of ctx, and waits for its end or that of ctx. If
// ctx ends first, left receives once, when fn has ended, and a panic of fn is a stray. Otherwise apart raises
// it.
func (d *Dispatcher) apart(ctx context.Context, fn func(ctx context.Context)) (left <-chan struct{}) {
	done := make(chan struct{}, 1)
	var raised *raise.Panic // set before done
	var parted atomic.Bool
	raise.Go(func() { fn(context.WithoutCancel(ctx)) }, func(p *raise.Panic) {
		if raised = p; p != nil && parted.Swap(true) {
			d.stray(ctx, p)
		}
		done <- struct{}{}
	})
	select {
	case <-done:
	case <-ctx.Done():
		if !parted.Swap(true) {
			return done
		}
		<-done
	}
	if raised != nil {
		panic(raised)
	}
	return nil
}

// InFlight is the error of a caller that left while its command was under way.
type InFlight struct {
	cause error
	cmd   redis.Cmder
	done  <-chan struct{} // receives once, when the command has ended
}

func (f *InFlight) Error() string { return f.cause.Error() }

// Unwrap is the reason why the caller left.
func (f *InFlight) Unwrap() error { return f.cause }

// Ended tells whether the command has ended. After that it may not be called again; nor beside Wait.
func (f *InFlight) Ended() bool {
	select {
	case <-f.done:
		return true
	default:
		return false
	}
}

// Wait blocks until the command has ended and returns it, or until d has passed, and is false then: only the
// client's own time limits end a command, and it may have none. It may be called once.
func (f *InFlight) Wait(d time.Duration) (redis.Cmder, bool) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-f.done:
		return f.cmd, true
	case <-timer.C:
		return nil, false
	}
}
