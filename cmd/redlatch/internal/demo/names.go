package demo

import "strconv"

// names are those of one run. The tag keeps them in one slot, and everything that the library derives from them
// (lanes, channels) contains it.
type names struct{ tag string }

func namesOf(id string) names { return names{"{redlatch-demo:" + id + "}"} }

func (n names) lock() string      { return n.tag + ":lock" }
func (n names) semaphore() string { return n.tag + ":semaphore" }
func (n names) start() string     { return n.tag + ":start" }
func (n names) finish() string    { return n.tag + ":finish" }
func (n names) ledger() string    { return n.tag + ":ledger" }
func (n names) journal() string   { return n.tag + ":journal" }
func (n names) witness() string   { return n.tag + ":witness" }
func (n names) inside() string    { return n.tag + ":inside" }

// presence is the lock that a worker holds all its life.
func (n names) presence(worker int) string { return n.tag + ":present:" + strconv.Itoa(worker) }

// known are the keys with a name of ours; lanes have the library's.
func (n names) known(workers int) []string {
	keys := []string{n.lock(), n.semaphore(), n.start(), n.finish(), n.ledger(), n.journal(), n.witness(), n.inside()}
	for w := 1; w <= workers; w++ {
		keys = append(keys, n.presence(w))
	}
	return keys
}
