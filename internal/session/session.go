// Package session is what the primitives of one redis client share.
//
// # Nouns
//
// A session belongs to one client of go-redis. Its parts are a dispatcher, which takes commands to the
// server; a wake-up hub, which hears messages; a watchdog, which renews leases; and the cohorts, in which
// calls wait. A listing, which is plugged in, writes into the registry what the client holds and waits for.
// An owner is the identity of one hold, and a candidate the identity under which the process waits in a
// process queue. Both begin with the ID of the session. A lane is a place in Redis where the server remembers
// one operation on a counter.
//
// # Life
//
// A session is plain memory, found by its client. Primitives and holds keep it alive, and it vanishes with
// the last of them. Nothing has to be closed. What is configured for a client is settled by its first
// command: a later Configure is refused.
package session

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"log/slog"
	"reflect"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
	"weak"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/clock"
	"github.com/redlatch/redlatch/internal/cohort"
	"github.com/redlatch/redlatch/internal/dispatch"
	"github.com/redlatch/redlatch/internal/lockorder"
	"github.com/redlatch/redlatch/internal/raise"
	"github.com/redlatch/redlatch/internal/settings"
	"github.com/redlatch/redlatch/internal/wakeup"
	"github.com/redlatch/redlatch/internal/watchdog"
)

// Client is what a session needs of a redis client; the root package has the documented form.
type Client interface {
	Process(ctx context.Context, cmd redis.Cmder) error
	Pipeline() redis.Pipeliner
	Subscribe(ctx context.Context, channels ...string) *redis.PubSub
	SSubscribe(ctx context.Context, channels ...string) *redis.PubSub
}

// A Session belongs to one client of this process. Its ID is random, so a process that restarts has another
// one.
type Session struct {
	ID       string
	Client   Client
	Dispatch *dispatch.Dispatcher
	Watchdog *watchdog.Watchdog
	Cohorts  cohort.Registry
	Down     atomic.Bool   // the last attempt of a redlock to take a lock there failed
	Log      *slog.Logger  // that of the first primitive; nil: there is none
	Timeout  time.Duration // the watchdog's, of the first primitive

	Listing Listing     // nil: there is none
	Listed  atomic.Bool // the listing looks by itself what is held and waited for, or there is none

	cluster  atomic.Bool      // several masters: names are checked, channels may be sharded
	topology dispatch.Cluster // nil unless the client shows what only a cluster client has
	slotted  atomic.Bool      // the server is a cluster although the client is not
	dialed   *dialed          // nil: what connections the client makes is not known
	owners   atomic.Int64
	linger   atomic.Int64 // time.Duration
	publish  publishCommand
	lanes    lanes

	// Own has what other packages keep with the session, by keys that differ: a permit by its id, what package
	// why asks by a key of a type of its own.
	Own sync.Map

	mu     lockorder.Mutex[lockorder.Session]
	queues map[cohort.Key]*queue // nil until a call takes a fair lock
	hub    *wakeup.Hub           // nil until a call waits
}

// A Listing tells other processes what the client of a session holds and waits for.
type Listing interface {
	// Wake is called when something begins to be held or waited for, unless Listed is set.
	Wake()

	// Heed is told of each Label and Registry that Configure has for the client.
	Heed(said Setting)
}

// NewListing makes the listing of a session that is open but for it, nil for none. The root package sets it
// to that of package listing, so every program has it.
var NewListing func(*Session) Listing

// tellListing has the listing look, of which nothing is called while it looks by itself.
func (s *Session) tellListing() {
	if !s.Listed.Load() {
		s.Listing.Wake()
	}
}

// sessions finds the session of a client without keeping it, and the record of a client without keeping that.
var sessions = struct {
	lockorder.Mutex[lockorder.Sessions]
	of      map[Client]weak.Pointer[Session]
	records map[mark]*record
}{of: map[Client]weak.Pointer[Session]{}, records: map[mark]*record{}}

// Of returns the session of client, making it when there is none. It panics on a client that cannot work:
// that is a mistake of the program, and start-up is the time to say so.
func Of(client Client, set *settings.Settings) *Session {
	if why := unfit(client); why != "" {
		panic("redlatch: " + why)
	}
	sessions.Lock()
	defer sessions.Unlock()
	s := sessions.of[client].Value()
	if s == nil {
		if isRing(client) {
			panic("redlatch: a *redis.Ring cannot carry locks: it moves keys to another server when a node fails, " +
				"and then a lock has two holders; use a cluster, or one client per server with redlock")
		}
		s = open(client, set)
		sessions.of[client] = weak.Make(s)
		runtime.AddCleanup(s, forget, client)
	}
	if set.LingerSet {
		s.linger.Store(int64(set.Linger))
	}
	return s
}

// forget drops what sessions has of a client, unless a new session of the same client has taken its place.
func forget(client Client) {
	sessions.Lock()
	defer sessions.Unlock()
	if sessions.of[client].Value() == nil {
		delete(sessions.of, client)
	}
}

// unfit says why a client cannot work, if it cannot.
func unfit(client Client) string {
	if client == nil || reflect.ValueOf(client).Kind() == reflect.Pointer && reflect.ValueOf(client).IsNil() {
		return "the redis client is nil; pass the result of redis.NewClient or redis.NewClusterClient"
	}
	if !reflect.ValueOf(client).Comparable() {
		return fmt.Sprintf("a client of type %T cannot be compared, so its locks could not find each other; "+
			"pass a pointer to it", client)
	}
	return ""
}

// open makes a session. It is called with the mutex of sessions.
func open(client Client, set *settings.Settings) *Session {
	s := &Session{ID: newID(), Client: client, Log: set.Logger, Timeout: set.WatchdogTimeout}
	s.lanes.began = clock.Now()
	s.topology, _ = client.(dispatch.Cluster)
	s.cluster.Store(s.topology != nil)
	r := recordOf(client)
	if s.topology == nil {
		s.dialed = r.listen(client)
	}
	s.Dispatch = dispatch.New(client, s.topology, s.Linger)
	s.Dispatch.OnTrouble = s.suspect
	s.Dispatch.OnStray = func(p *raise.Panic) { p.Log(s.Log) }
	s.Dispatch.OnNarrow = func(err error) {
		Logger(s.Log).Warn("redlatch: scripts are sent without the keys that only serve waiters faster or say more "+
			"about a loss, because a slot moves or the user has no right to them", "error", err)
	}
	s.Watchdog = watchdog.New(s.renew)
	if NewListing != nil {
		s.Listing = NewListing(s)
	}
	s.Listed.Store(s.Listing == nil)
	s.heed(r.said)
	return s
}

// Linger is how long what is shared outlasts its last use.
func (s *Session) Linger() time.Duration { return time.Duration(s.linger.Load()) }

// Background is a context for commands that no call waits for, within a time. A panic of a hook goes to the
// log.
func (s *Session) Background(within time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(raise.Background(context.Background(), Logger(s.Log)), within)
}

// newID is a random UUID, as text. Redisson's clients have UUIDs of version 4. Ours are of version 8, which
// is free for any use, so that a script can tell the owners of the two libraries apart.
func newID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	b[6] = b[6]&0x0f | 0x80
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// NextOwner mints an identity: "<session>:<number>", as Redisson writes its uuid and thread id.
func (s *Session) NextOwner() string {
	var buffer [64]byte
	text := append(append(buffer[:0], s.ID...), ':')
	return string(strconv.AppendInt(text, s.owners.Add(1), 10))
}

// NextCandidate makes the identity of a candidate. Its number can only be known with the right to read the
// process queue: the process believes every message that its candidate holds now, and the channel on which
// such a message comes is known to every program. The number is above all that NextOwner mints.
func (s *Session) NextCandidate() string {
	var b [8]byte
	rand.Read(b[:]) // never fails
	var buffer [64]byte
	text := append(append(buffer[:0], s.ID...), ':')
	return string(strconv.AppendUint(text, 1<<62|binary.NativeEndian.Uint64(b[:])>>2, 10))
}

// silent discards what is logged.
var silent = slog.New(slog.DiscardHandler)

// Logger returns l, or a logger that says nothing.
func Logger(l *slog.Logger) *slog.Logger {
	if l == nil {
		return silent
	}
	return l
}
