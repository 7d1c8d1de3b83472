package dispatch

import "time"

// MaxLeaders and MaxBatch are the limits that the tests count against.
const (
	FewLeaders = fewLeaders
	MaxLeaders = maxLeaders
	MaxBatch   = maxBatch
	TickPeriod = tickPeriod
)

// Ticking tells whether the way to a single server watches for trips that are late.
func (d *Dispatcher) Ticking() bool {
	d.one.mu.Lock()
	defer d.one.mu.Unlock()
	return d.one.ticking
}

// Load is what the way to a single server is busy with: leaders under way, commands queued, workers parked.
func (d *Dispatcher) Load() (leaders, queued, parked int) {
	d.one.mu.Lock()
	defer d.one.mu.Unlock()
	parked = len(d.one.idle)
	if x := d.one.pollWorker; x != nil && x.resting {
		parked++
	}
	return d.one.leaders, d.one.queue.length, parked
}

// HasPollWorker tells whether lone callers of a single server have a poll worker at hand.
func (d *Dispatcher) HasPollWorker() bool {
	d.one.mu.Lock()
	defer d.one.mu.Unlock()
	return d.one.pollWorker != nil
}

// PollWorkerIsFree tells whether the next lone caller of a single server would be served by a poll worker.
func (d *Dispatcher) PollWorkerIsFree() bool {
	d.one.mu.Lock()
	defer d.one.mu.Unlock()
	x := d.one.pollWorker
	return x != nil && x.resting && !x.taken.Load() && !time.Now().Before(x.again)
}

// Masters is how many servers of a cluster have a queue.
func (d *Dispatcher) Masters() (n int) {
	d.nodes.Range(func(any, any) bool { n++; return true })
	return n
}
