package dispatch

import "time"

func (c *pollCourier) restsLocked() bool { return c.worker != nil && c.worker.resting }

func (n *node) pollWorker() *pollWorker { return n.courier.(*pollCourier).worker }

// HasPollWorker tells whether lone callers of a single server have a poll worker at hand.
func (d *Dispatcher) HasPollWorker() bool {
	d.one.mu.Lock()
	defer d.one.mu.Unlock()
	return d.one.pollWorker() != nil
}

// PollWorkerIsFree tells whether the next lone caller of a single server would be served by a poll worker.
func (d *Dispatcher) PollWorkerIsFree() bool {
	d.one.mu.Lock()
	defer d.one.mu.Unlock()
	x := d.one.pollWorker()
	return x != nil && x.resting && !x.taken.Load() && !time.Now().Before(x.again)
}
