package sim

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/redlatch/redlatch/proof/internal/history"
)

// force takes an object from its holders, and notes when each client hears of it. The message is sent at the moment of the answer.
func (w *world) force(o Object) error {
	channel := o.channel()
	if w.spins(o) {
		channel = ""
	}
	var ends []func() []message
	for _, c := range w.clients {
		ends = append(ends, c.network.await(channel))
	}
	err := w.suite.Force(context.Background(), w.admin.Redis[0], o)
	for i, c := range w.clients {
		for _, m := range ends[i]() {
			if m.channel == channel && m.sent.Equal(w.admin.network.sent()) {
				time.AfterFunc(time.Until(m.arrives), func() {
					c.record(history.Record{What: history.Heard, Object: o.Name, At: history.Time(m.arrives.Sub(w.start))})
				})
			}
		}
	}
	return err
}

// channel is where the message of a force-unlock comes to all clients that listen; empty where it does not.
func (o Object) channel() string {
	switch o.Kind {
	case Lock, Fenced:
		return "redisson_lock__channel:{" + o.Name + "}"
	case RW:
		return "redisson_rwlock:{" + o.Name + "}"
	}
	return ""
}

// spins tells whether an object is used by a spin lock, which does not listen.
func (w *world) spins(o Object) bool {
	return slices.ContainsFunc(w.plan.Clients, func(c Client) bool {
		return slices.ContainsFunc(c.Workers, func(steps []Step) bool {
			return slices.ContainsFunc(steps, func(s Step) bool { return s.Way == "spin" && w.plan.Objects[s.Object].Name == o.Name })
		})
	})
}

// A message is one that a server has sent to the client.
type message struct {
	channel       string
	sent, arrives time.Time
}

// await notes the messages to a channel, until the function is called that await returns. That answers them.
func (n *network) await(channel string) (end func() []message) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.awaits, n.caught = channel, nil
	return func() []message {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.awaits = ""
		return n.caught
	}
}

// answered notes that a server has sent an answer, which takes so long.
func (n *network) answered(answer []byte, takes time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.latest = time.Now()
	if n.awaits != "" && isMessage(answer) && bytes.Contains(answer, []byte("\r\n"+n.awaits+"\r\n")) {
		n.caught = append(n.caught, message{n.awaits, n.latest, n.latest.Add(takes)})
	}
}

// sent is when the server sent its latest answer.
func (n *network) sent() time.Time {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.latest
}
