package dispatch

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
	if c, ok := d.one.courier.(interface{ restsLocked() bool }); ok && c.restsLocked() {
		parked++
	}
	return d.one.leaders, d.one.queue.length, parked
}

// Masters is how many servers of a cluster have a queue.
func (d *Dispatcher) Masters() (n int) {
	d.nodes.Range(func(any, any) bool { n++; return true })
	return n
}
