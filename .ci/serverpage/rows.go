package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/fairlock"
	"github.com/redlatch/redlatch/fencedlock"
	"github.com/redlatch/redlatch/internal/test/servers"
	"github.com/redlatch/redlatch/multilock"
	"github.com/redlatch/redlatch/redlock"
	"github.com/redlatch/redlatch/rlock"
	"github.com/redlatch/redlatch/rwlock"
	"github.com/redlatch/redlatch/spinlock"
)

// An answer is a cell of the table. A note is given unless the row simply runs.
type answer struct {
	verdict verdict
	note    string
}

type verdict string

const (
	runs         verdict = "runs"
	fallsBack    verdict = "falls back"
	doesNotApply verdict = "does not apply"
)

// A row does something on a server. What fails there is an error: the library claims to run on all of them.
type row struct {
	what string
	run  func(ctx context.Context, s *stage) error

	// Where the server lacks feature, the row says so, with what the library does then. Without set, run is still done:
	// it shows that the fall-back works. Otherwise it is not.
	feature *servers.Feature
	without verdict
}

// A stage is the servers that a row finds.
type stage struct {
	server          *servers.Server
	master, replica *servers.Server
	sentinel        *servers.Sentinel
	cluster         *servers.Cluster
	closers         []func() error
}

// client is closed with the stage.
func (s *stage) client(change ...func(*redis.Options)) *redis.Client {
	c := s.server.Client(change...)
	s.closers = append(s.closers, c.Close)
	return c
}

func (s *stage) clusterClient() *redis.ClusterClient {
	c := s.cluster.Client()
	s.closers = append(s.closers, c.Close)
	return c
}

func (s *stage) open() (err error) {
	if s.server, err = servers.Start(); err != nil {
		return err
	}
	s.closers = append(s.closers, s.server.Close)
	if s.sentinel, err = servers.StartSentinel(); err != nil {
		return err
	}
	s.closers = append(s.closers, s.sentinel.Close)
	if s.master, s.replica, err = servers.StartReplicated(); err != nil {
		return err
	}
	s.closers = append(s.closers, s.master.Close, s.replica.Close)
	if s.cluster, err = servers.StartCluster(3, 1); err != nil {
		return err
	}
	s.closers = append(s.closers, s.cluster.Close)
	return nil
}

func (s *stage) close() error {
	var problems []error
	for i := len(s.closers) - 1; i >= 0; i-- {
		problems = append(problems, s.closers[i]())
	}
	return errors.Join(problems...)
}

// answersOf fills the rows for the program that servers.Start takes.
func answersOf() (answers []answer, err error) {
	s := &stage{}
	defer func() { err = errors.Join(err, s.close()) }()
	if err := s.open(); err != nil {
		return nil, err
	}
	for _, r := range rows {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		got, err := r.ask(ctx, s)
		cancel()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r.what, err)
		}
		answers = append(answers, got)
	}
	return answers, nil
}

func (r row) ask(ctx context.Context, s *stage) (answer, error) {
	got := answer{verdict: runs}
	if r.feature != nil {
		has, err := s.server.Has(ctx, *r.feature)
		if err != nil {
			return answer{}, err
		}
		if !has {
			got = answer{r.without, r.feature.Without}
		}
	}
	if got.verdict == doesNotApply {
		return got, nil
	}
	return got, r.run(ctx, s)
}

var rows = []row{
	{what: "`rlock`", run: lock(func(c redlatch.Client, name string) redlatch.Locker { return rlock.New(c, name, patient) })},
	{what: "`fairlock`", run: lock(func(c redlatch.Client, name string) redlatch.Locker { return fairlock.New(c, name, patient) })},
	{what: "`rwlock`, writing", run: lock(func(c redlatch.Client, name string) redlatch.Locker { return rwlock.New(c, name, patient).Writer() })},
	{what: "`rwlock`, reading", run: readers},
	{what: "`spinlock`", run: lock(func(c redlatch.Client, name string) redlatch.Locker { return spinlock.New(c, name) })},
	{what: "`fencedlock`", run: lock(func(c redlatch.Client, name string) redlatch.Locker { return fencedlock.New(c, name, patient) })},
	{what: "the guard of a fenced lock", run: guard},
	{what: "`multilock`, group", run: lock(func(c redlatch.Client, name string) redlatch.Locker {
		return multilock.NewGroup(c, name, []string{"a", "b"}, patient)
	})},
	{what: "`redlock`", run: lock(func(c redlatch.Client, name string) redlatch.Locker {
		return redlock.New([]redlatch.Client{c}, name)
	})},
	{what: "`semaphore`", run: semaphores},
	{what: "`permitsemaphore`", run: permits},
	{what: "`countdownlatch`", run: latches},
	{what: "RESP2 and RESP3", run: protocols},
	{what: "renewal by the watchdog", run: renewal},
	{what: "a lock is passed to the next waiter", run: passed},
	{what: "a server that is out of memory renews, takes back and gives nothing", run: full},
	{what: "errors inside scripts are told apart", run: wrongType, feature: &servers.CodesInScripts, without: fallsBack},
	{what: "a user with the rights of [operating.md](operating.md#acl)", run: limited},
	{what: "`WithReplicas`", run: replicas},
	{what: "a server with too few replicas (`min-replicas-to-write`) gives nothing", run: tooFewReplicas,
		feature: &servers.ReplicasForScripts, without: doesNotApply},
	{what: "locks on a cluster", run: onCluster},
	{what: "sharded channels on a cluster", run: shardedWake, feature: &servers.ShardedChannels, without: fallsBack},
	{what: "a slot moves with all its keys at once (`CLUSTER MIGRATESLOTS`)", run: slotMoves, feature: &servers.SlotsAtOnce, without: fallsBack},
	{what: "a replica takes over in a cluster", run: clusterFailover},
	{what: "a replica takes over by Sentinel", run: sentinelFailover},
}
