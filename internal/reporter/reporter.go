package reporter

import (
	"sync/atomic"
	"time"

	"github.com/redlatch/redlatch/internal/lockorder"
)

// A Config is what a program says about reports.
type Config struct {
	Off    bool   // there are none
	Prefix string // of the keys
	Label  string
	AtOnce bool // the first report does not wait until something is ripe
}

// ripe is for how long something is held or waited for before the client reports.
func (c Config) ripe() time.Duration {
	if c.AtOnce {
		return 0
	}
	return Ripe
}

// An Answer is what became of a message.
type Answer struct {
	Outcome Outcome
	Entries int64    // in the client's bucket; 0: not known
	Watched bool     // a viewer looks at the entries, so the next report is to come soon
	Asked   []string // the identities for whose holds others ask
}

// An Outcome is what follows from an answer.
type Outcome int

const (
	// it may have been written, or not, or was refused by a server that is expected to take the next one
	Unknown Outcome = iota
	Written
	Gone    // there was no entry, so nothing was written
	Refused // and is for a while
	Barred  // and ever will be
)

// Functions are what a reporter is made of.
type Functions struct {
	Look   func(*Snapshot)      // adds what there is
	Send   func(Message) Answer // once, and does not block for long
	Remove func(Config) bool    // removes the entry; false: it may be there, and a later try may succeed
	Linger func() time.Duration
	Awake  *atomic.Bool // the reporter looks by itself, or never will again: while it is true nothing has to call Wake
	// is told, after a report that was written, the identities for whose holds others ask; it may block
	Asked func(identities []string)
}

// A Reporter is that of one client.
type Reporter struct {
	Functions

	mu     lockorder.Mutex[lockorder.Reporter] // guards what follows; not held while it looks or sends
	config Config
	ended  bool // the program ends: there are no further reports, and the entry is the business of the caller
	timer  *time.Timer

	listed atomic.Bool // there is an entry, or may be; set by run

	// The rest belongs to the goroutine of run, of which there is one at a time: run alone sets the timer.

	known   known
	entries int64     // in the client's bucket, when it was last told; 0: never
	failed  int       // reports without an answer, or refused for now, since the last one that was written
	removed int       // how often the entry was removed in vain
	asked   []string  // by the last answer
	watched bool      // by the last answer
	idle    time.Time // since when nothing is ripe; zero: something is
}

// New makes a reporter at rest.
func New(f Functions) *Reporter { return &Reporter{Functions: f} }

// Wake is called when something begins to be held or waited for, after Look would find it.
func (r *Reporter) Wake() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.Awake.CompareAndSwap(false, true) {
		r.setLocked(r.config.ripe())
	}
}

// Configure changes the config, before the first report that is written: a client says once what counts for
// it. From AtOnce on it may also come later.
func (r *Reporter) Configure(change func(*Config)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change(&r.config)
}

// Config is what a program has said.
func (r *Reporter) Config() Config {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.config
}

// end ends the reports, and tells whether there were any until now.
func (r *Reporter) end() (config Config, now bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now = !r.ended && !r.config.Off
	r.ended = true
	return r.config, now
}

// Leave is for a client whose program ends and leaves what it holds to its leases: there are no further
// reports, and the entry stays. It answers the last report, of which the caller makes the entry; none where
// there are no reports.
func (r *Reporter) Leave() []Message {
	config, now := r.end()
	if !now {
		return nil
	}
	messages, _ := known(nil).messages(r.look(), config)
	return messages
}

// Retire is for a client whose program ends: there are no further reports. It tells whether there is an
// entry, or may be, and with which config; the caller removes it.
func (r *Reporter) Retire() (entry Config, listed bool) {
	entry, now := r.end()
	return entry, now && r.listed.Load()
}

func (r *Reporter) set(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.setLocked(d)
}

func (r *Reporter) setLocked(d time.Duration) {
	if r.timer == nil {
		r.timer = time.AfterFunc(d, r.run)
	} else {
		r.timer.Reset(d)
	}
}
