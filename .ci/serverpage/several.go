package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/keys"
	"github.com/redlatch/redlatch/rlock"
)

func replicas(ctx context.Context, s *stage) error {
	c := s.master.Client()
	defer c.Close()
	hold, err := rlock.New(c, "copied", redlatch.WithReplicas(1, 3*time.Second)).Lock(ctx)
	if err != nil {
		return err
	}
	held, err := s.replica.Admin().Exists(ctx, "copied").Result()
	if held != 1 {
		return fmt.Errorf("the replica does not have it (%w)", err)
	}
	return hold.Unlock(ctx)
}

func tooFewReplicas(ctx context.Context, s *stage) error {
	set := func(n string) error { return s.server.Admin().ConfigSet(ctx, "min-replicas-to-write", n).Err() }
	if err := set("3"); err != nil {
		return err
	}
	_, err := rlock.New(s.client(), "few").TryLock(ctx, redlatch.WithOutage(200*time.Millisecond))
	if !errors.Is(err, redlatch.ErrUnavailable) {
		return errors.Join(fmt.Errorf("it answers %w", err), set("0"))
	}
	return set("0")
}

func onCluster(ctx context.Context, s *stage) error {
	return handOver(ctx, rlock.New(s.clusterClient(), "lock", patient), rlock.New(s.clusterClient(), "lock", patient))
}

// shardedWake has a waiter woken that only a message can wake, wherever the lock's slot is.
func shardedWake(ctx context.Context, s *stage) error {
	ours, theirs := s.clusterClient(), s.clusterClient()
	for _, name := range []string{"a", "b", "c", "d"} { // slots of all three masters
		if err := handOver(ctx, rlock.New(ours, name, patient), rlock.New(theirs, name, patient)); err != nil {
			return err
		}
	}
	return nil
}

// slotMoves keeps a lock while its slot goes to another master: at once where the server can do that, else by the steps of
// redis-cli.
func slotMoves(ctx context.Context, s *stage) error {
	c := s.clusterClient()
	hold, err := rlock.New(c, "{moved}", redlatch.WithWatchdogTimeout(3*time.Second)).Lock(ctx)
	if err != nil {
		return err
	}
	slot := keys.Slot("moved")
	first := slot * 3 / keys.Slots
	from, to := s.cluster.Nodes()[first].Admin(), s.cluster.Nodes()[(first+1)%3].Admin()
	target, err := to.ClusterMyID(ctx).Result()
	if err != nil {
		return err
	}
	atOnce := from.Do(ctx, "cluster", "migrateslots", "slotsrange", slot, slot, "node", target).Err()
	if atOnce != nil {
		source, err := from.ClusterMyID(ctx).Result()
		if err != nil {
			return err
		}
		host, port, _ := strings.Cut(s.cluster.Nodes()[(first+1)%3].Addr(), ":")
		if err := errors.Join(
			to.Do(ctx, "cluster", "setslot", slot, "importing", source).Err(),
			from.Do(ctx, "cluster", "setslot", slot, "migrating", target).Err(),
			from.Migrate(ctx, host, port, "{moved}", 0, 5*time.Second).Err(),
			to.Do(ctx, "cluster", "setslot", slot, "node", target).Err(),
			from.Do(ctx, "cluster", "setslot", slot, "node", target).Err(),
		); err != nil {
			return err
		}
	}
	for to.Exists(ctx, "{moved}").Err() != nil { // it answers for the slot when it has it
		if ctx.Err() != nil {
			return errors.Join(ctx.Err(), atOnce)
		}
		time.Sleep(10 * time.Millisecond)
	}
	return errors.Join(hold.Extend(ctx, time.Minute), context.Cause(hold.Context(ctx)), hold.Unlock(ctx))
}

func clusterFailover(ctx context.Context, s *stage) error {
	c := s.clusterClient()
	hold, err := rlock.New(c, "{kept}", redlatch.WithWatchdogTimeout(20*time.Second), redlatch.WithReplicas(1, 3*time.Second)).Lock(ctx)
	if err != nil {
		return err
	}
	primary := keys.Slot("kept") * 3 / keys.Slots
	if err := s.cluster.Nodes()[primary].Kill(); err != nil {
		return err
	}
	return errors.Join(untilDone(ctx, func() error { return hold.Extend(ctx, time.Minute) }), hold.Unlock(ctx))
}

func sentinelFailover(ctx context.Context, s *stage) error {
	c := s.sentinel.Client()
	defer c.Close()
	hold, err := rlock.New(c, "kept", redlatch.WithWatchdogTimeout(20*time.Second), redlatch.WithReplicas(1, 3*time.Second)).Lock(ctx)
	if err != nil {
		return err
	}
	if err := s.sentinel.Master.Kill(); err != nil {
		return err
	}
	return errors.Join(untilDone(ctx, func() error { return hold.Extend(ctx, time.Minute) }), hold.Unlock(ctx))
}

// untilDone repeats what an outage interrupts.
func untilDone(ctx context.Context, do func() error) error {
	for {
		err := do()
		if err == nil || ctx.Err() != nil || !errors.Is(err, redlatch.ErrUnavailable) {
			return err
		}
		time.Sleep(50 * time.Millisecond)
	}
}
