package demo

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	reach "github.com/redlatch/redlatch/cmd/redlatch/internal/connect"
	"strings"
	"time"

	"github.com/redlatch/redlatch/countdownlatch"
	"github.com/redlatch/redlatch/semaphore"
)

// cleanupTime bounds what is done after the end, or after Ctrl-C: look at the keys and remove them.
const cleanupTime = 20 * time.Second

var errTimeout = errors.New("not finished in time")

// Run runs one demo. When ctx ends it stops the workers, removes the keys and reports what had been done until then
// as interrupted. An error means that the demo could not be carried through; the result is nil when it did not start.
func Run(ctx context.Context, c Config) (*Result, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	began := time.Now()
	srv, err := serve(ctx, c.URL)
	if err != nil {
		return nil, err
	}
	defer srv.close()
	client, err := connect(srv.url)
	if err != nil {
		return nil, err
	}
	defer reach.Close(client)

	id := strings.ToLower(rand.Text()[:8])
	n := namesOf(id)
	p := &parent{
		names: n, config: &c, client: client,
		start:     countdownlatch.New(client, n.start()),
		finish:    countdownlatch.New(client, n.finish()),
		permits:   semaphore.New(client, n.semaphore()),
		story:     newStory(c.Watch),
		assembled: map[int]bool{}, permitted: map[int]bool{}, unsettled: map[int]bool{},
	}
	result := &Result{
		Schema: Schema, Server: srv.name, Embedded: srv.embedded, ID: id,
		Workers: c.Workers, Jobs: c.Jobs, Permits: c.Permits,
	}
	c.Watch.Begin(&c, srv.name)

	err = p.perform(ctx, srv.url, id)
	result.Saw = p.saw

	// From here on nothing is interrupted any more, but bounded.
	after, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTime)
	defer cancel()
	result.Interrupted = ctx.Err() != nil
	if errors.Is(err, context.Canceled) && result.Interrupted {
		err = nil
	}
	if errors.Is(err, errTimeout) {
		result.Reasons = append(result.Reasons, fmt.Sprintf("not finished within %v", c.Timeout))
		err = nil
	}
	if err == nil {
		err = p.verify(after, result)
	}
	err = errors.Join(err, p.clean(after, result))
	result.Seconds = time.Since(began).Round(time.Millisecond).Seconds()
	result.conclude(err)
	return result, err
}

// perform does all of it up to the verdict. All workers have ended when it returns.
func (p *parent) perform(ctx context.Context, url, id string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, p.config.Timeout, errTimeout)
	defer cancel()
	if err := p.prepare(ctx); err != nil {
		return err
	}
	var all []orders
	for w := 1; w <= p.config.Workers; w++ {
		all = append(all, orders{URL: url, ID: id, Worker: w, FatalJob: p.config.fatalJob()})
	}
	crew, err := hire(p.config.Worker, all)
	if err != nil {
		return err
	}
	defer crew.dismiss()
	p.crew = crew
	p.story.tell("%s started: processes %s", count(len(all), "worker"), crew.numbers())
	return p.direct(ctx)
}

// verify reads the whole journal afresh and judges.
func (p *parent) verify(ctx context.Context, result *Result) error {
	journal, err := p.since(ctx, p.client, "0")
	if err != nil {
		return fmt.Errorf("read the journal: %w", err)
	}
	r, err := p.remains(ctx)
	if err != nil {
		return err
	}
	f := replay(journal)
	result.Checks, result.Numbers = judge(p.config, f, r)
	result.Notes = notes(f)
	return nil
}

func (p *parent) clean(ctx context.Context, result *Result) error {
	removed, left, err := p.sweep(ctx, p.client, p.config.Workers)
	if err != nil {
		return fmt.Errorf("remove the keys with %s in their names: %w; they expire by themselves", p.tag, err)
	}
	result.Numbers.KeysRemoved, result.Numbers.KeysLeft = removed, left
	result.Checks = append(result.Checks, Check{
		"nothing left in Redis", left == 0, fmt.Sprintf("%s removed, %d left", count(removed, "key"), left),
	})
	return nil
}
