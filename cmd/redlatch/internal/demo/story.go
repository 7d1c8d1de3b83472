package demo

import (
	"fmt"
	"time"
)

// A Watcher is told what happens while it happens.
type Watcher interface {
	Begin(c *Config, server string)
	Tell(at time.Duration, text string)
	Progress(s Status)
}

// Status is how far it has come.
type Status struct {
	At     time.Duration // since the beginning
	Done   int
	Inside int // the semaphore
	Holder int // of the lock; 0 for nobody
	Dead   bool
}

// A story turns entries of the journal into words. It judges nothing; that is done at the end.
type story struct {
	watch  Watcher
	began  time.Time
	status Status
	inside map[int]bool
	dead   map[int]bool
	killed map[int]int64 // server time
}

func newStory(watch Watcher) story {
	return story{watch: watch, began: time.Now(), inside: map[int]bool{}, dead: map[int]bool{}, killed: map[int]int64{}}
}

func (s *story) tell(format string, args ...any) {
	s.watch.Tell(time.Since(s.began), fmt.Sprintf(format, args...))
}

func (s *story) progress() {
	s.status.At = time.Since(s.began)
	s.status.Inside = len(s.inside)
	s.status.Dead = s.dead[s.status.Holder]
	s.watch.Progress(s.status)
}

// kill notes that the worker is dead, before the journal says so.
func (s *story) kill(worker int) { s.dead[worker] = true }

func (s *story) heed(e entry) {
	switch e.kind {
	case enter:
		if at, killed := s.killed[s.status.Holder]; killed {
			s.tell("worker %d has the lock, %s after the kill of worker %d", e.worker, seconds(e.ms-at), s.status.Holder)
		}
		s.status.Holder = e.worker
	case exit:
		s.status.Holder = 0
	case taken:
		if e.attempt > 1 {
			s.tell("worker %d takes over job %d", e.worker, e.job)
		}
	case finished:
		s.status.Done++
	case begin:
		s.inside[e.worker] = true
	case end, returned:
		delete(s.inside, e.worker)
	case killing:
		s.killed[e.worker] = e.ms
	case died:
		if _, known := s.killed[e.worker]; !known {
			s.killed[e.worker] = e.ms
		}
	}
}
