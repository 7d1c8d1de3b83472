package demo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/countdownlatch"
	"github.com/redlatch/redlatch/rlock"
	"github.com/redlatch/redlatch/semaphore"
)

const (
	look   = 40 * time.Millisecond // how often the journal is read
	outage = 10 * time.Second      // how long the server may be away
)

// parent directs the workers of one run by what the journal says; nothing else comes from them.
type parent struct {
	names
	config        *Config
	client        *redis.Client
	crew          *crew
	start, finish *countdownlatch.Latch
	permits       *semaphore.Semaphore

	story     story
	journal   []entry
	read      time.Time    // when the journal was last read
	assembled map[int]bool // workers that wait for the start, or died before
	running   bool         // the start latch was opened
	permitted map[int]bool // workers with a permit
	unsettled map[int]bool // dead workers that may have left something behind
	opened    bool         // the finish latch
	killed    time.Time    // when a worker was, by us
	saw       *Glance
}

// prepare makes the keys. Their time to live is for the case that the parent is killed.
func (p *parent) prepare(ctx context.Context) error {
	ttl := p.config.Timeout + 2*time.Minute
	_, err := p.client.TxPipelined(ctx, func(tx redis.Pipeliner) error {
		tx.Set(ctx, p.inside(), 0, ttl)
		tx.Set(ctx, p.witness(), "", ttl)
		if err := p.writeLedger(ctx, tx, newLedger(p.config.Jobs)); err != nil {
			return err
		}
		tx.Expire(ctx, p.ledger(), ttl)
		if err := p.record(ctx, tx, entry{kind: prepared}); err != nil {
			return err
		}
		return tx.Expire(ctx, p.names.journal(), ttl).Err()
	})
	if err != nil {
		return fmt.Errorf("set up the ledger: %w", err)
	}
	if _, err := p.start.TrySetCount(ctx, 1, redlatch.WithTTL(ttl)); err != nil {
		return fmt.Errorf("set up the start latch: %w", err)
	}
	if _, err := p.finish.TrySetCount(ctx, int64(p.config.Jobs), redlatch.WithTTL(ttl)); err != nil {
		return fmt.Errorf("set up the finish latch: %w", err)
	}
	if _, err := p.permits.TrySetPermits(ctx, int64(p.config.Permits), redlatch.WithTTL(ttl)); err != nil {
		return fmt.Errorf("set up the semaphore: %w", err)
	}
	return nil
}

// direct goes on until all workers have ended and what the dead left behind is settled.
func (p *parent) direct(ctx context.Context) error {
	// Await has a goroutine and a context of its own; both end with this call.
	awaiting, stop := context.WithCancel(ctx)
	finish := make(chan error, 1)
	go func() { finish <- p.finish.Await(awaiting) }()
	await := finish
	defer func() {
		stop()
		if await != nil {
			<-await
		}
	}()

	p.read = time.Now()
	tick := time.NewTicker(look)
	defer tick.Stop()
	for p.crew.living > 0 || len(p.unsettled) > 0 {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case m := <-p.crew.ends:
			p.crew.buried(m)
			if err := p.bury(ctx, m); err != nil {
				return err
			}
		case err := <-await:
			await = nil
			if err != nil && ctx.Err() == nil {
				return fmt.Errorf("await the finish latch: %w", err)
			}
			p.opened = err == nil
			if p.opened {
				p.story.tell("the finish latch opens: %s counted down", count(p.config.Jobs, "job"))
			}
		case <-tick.C:
			if err := p.follow(ctx); err != nil {
				return err
			}
			if err := p.settle(ctx); err != nil {
				return err
			}
			p.glance(ctx)
		}
	}
	// The last worker counted down before it ended; the news is on its way.
	if await != nil {
		if count, err := p.finish.Count(ctx); err == nil && count == 0 {
			p.opened = <-await == nil
			await = nil
		}
	}
	return p.follow(ctx)
}

// follow reads what is new in the journal and acts on it.
func (p *parent) follow(ctx context.Context) error {
	after := "0"
	if k := len(p.journal); k > 0 {
		after = p.journal[k-1].id
	}
	fresh, err := p.since(ctx, p.client, after)
	if err != nil {
		if ctx.Err() == nil && time.Since(p.read) > outage {
			return fmt.Errorf("read the journal: %w", err)
		}
		return nil // perhaps next time
	}
	p.read = time.Now()
	p.journal = append(p.journal, fresh...)
	for _, e := range fresh {
		if err := p.heed(ctx, e); err != nil {
			return err
		}
	}
	p.story.progress()
	return nil
}

func (p *parent) heed(ctx context.Context, e entry) error {
	p.story.heed(e)
	switch e.kind {
	case ready:
		return p.assemble(ctx, e.worker)
	case begin:
		p.permitted[e.worker] = true
	case end, returned:
		delete(p.permitted, e.worker)
	case standing:
		// Written before the signal, so the takeover is not measured shorter than it was.
		if err := p.record(ctx, p.client, entry{kind: killing, worker: e.worker}); err != nil {
			return err
		}
		p.story.tell("worker %d holds the lock, has taken job %d, and is killed (SIGKILL)", e.worker, e.job)
		p.story.kill(e.worker)
		if err := p.crew.kill(e.worker); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return fmt.Errorf("kill worker %d: %w", e.worker, err)
		}
		p.killed = time.Now()
	}
	return nil
}

// assemble opens the start latch when nobody is missing.
func (p *parent) assemble(ctx context.Context, worker int) error {
	p.assembled[worker] = true
	if p.running || len(p.assembled) < p.config.Workers {
		return nil
	}
	p.running = true
	if err := p.record(ctx, p.client, entry{kind: opening}); err != nil {
		return err
	}
	p.story.tell("all workers wait at the start latch, and it opens")
	if err := p.start.CountDown(ctx); err != nil {
		return fmt.Errorf("open the start latch: %w", err)
	}
	return nil
}

// bury notes that a worker has ended.
func (p *parent) bury(ctx context.Context, m *member) error {
	if m.err == nil {
		return nil
	}
	p.unsettled[m.worker] = true
	p.story.kill(m.worker)
	if !m.planned {
		p.story.tell("worker %d ended unexpectedly: %s", m.worker, m.obituary())
	}
	if err := p.record(ctx, p.client, entry{kind: died, worker: m.worker}); err != nil {
		return fmt.Errorf("write the journal: %w", err)
	}
	return p.assemble(ctx, m.worker)
}

// settle gives back the permits of dead workers. A plain semaphore has no owners, so somebody must who knows: the
// journal shows who had one. It is read once the dead worker's presence lock has run out, when nothing that it sent
// can still be on its way.
func (p *parent) settle(ctx context.Context) error {
	for w := range p.unsettled {
		present, err := rlock.New(p.client, p.presence(w)).IsLocked(ctx)
		if err != nil || present {
			continue // perhaps next time
		}
		if err := p.follow(ctx); err != nil {
			return err
		}
		delete(p.unsettled, w)
		if !p.permitted[w] {
			continue
		}
		_, err = p.client.TxPipelined(ctx, func(tx redis.Pipeliner) error {
			tx.Decr(ctx, p.inside())
			return p.record(ctx, tx, entry{kind: returned, worker: w})
		})
		if err != nil {
			return fmt.Errorf("give back the permit of worker %d: %w", w, err)
		}
		if err := p.permits.Release(ctx, 1); err != nil {
			return fmt.Errorf("give back the permit of worker %d: %w", w, err)
		}
		p.story.tell("the permit with which worker %d died is given back by the parent", w)
	}
	return nil
}

// remains looks at the keys after the end.
func (p *parent) remains(ctx context.Context) (r remains, err error) {
	r.opened = p.opened
	if r.ledger, err = p.readLedger(ctx, p.client); err != nil {
		return r, err
	}
	if r.inside, err = p.client.Get(ctx, p.inside()).Int64(); err != nil {
		return r, fmt.Errorf("read who is inside: %w", err)
	}
	if r.permits, err = p.permits.AvailablePermits(ctx); err != nil {
		return r, fmt.Errorf("read the permits: %w", err)
	}
	if r.count, err = p.finish.Count(ctx); err != nil {
		return r, fmt.Errorf("read the finish latch: %w", err)
	}
	return r, nil
}
