package dispatch

// MaxLeaders and MaxBatch are the limits that the tests count against.
const (
	MaxLeaders = maxLeaders
	MaxBatch   = maxBatch
)

// Load is what the way to a single server is busy with: leaders under way, commands queued, workers parked.
func (d *Dispatcher) Load() (leaders, queued, parked int) {
	d.one.mu.Lock()
	defer d.one.mu.Unlock()
	return d.one.leaders, len(d.one.queue), len(d.one.idle)
}
