package permitsemaphore

import "time"

// Grace has ids be on their way for so long. It comes before the first Acquire.
func (s *Semaphore) Grace(d time.Duration) { s.grace = d }
