package proxy

import (
	"bytes"
	"slices"
	"strings"
	"sync"
	"time"
)

// A Command is one request as a client sent it.
type Command struct {
	Name string   // upper case
	Args []string // without the name
	Conn int      // which connection of the proxy it came on, from 1
}

// Named matches the commands with one of these names, written in upper case.
func Named(names ...string) func(Command) bool {
	return func(c Command) bool { return slices.Contains(names, c.Name) }
}

// OnKey matches the scripts whose first key is this one, and leaves connection set-up alone.
func OnKey(key string) func(Command) bool {
	return func(c Command) bool {
		return (c.Name == "EVALSHA" || c.Name == "EVAL") && len(c.Args) > 2 && c.Args[2] == key
	}
}

// An Action is what happens to a command that a Rule matches. The other commands of its connection keep their order;
// those before it are never touched.
type Action struct {
	kind   actionKind
	delay  time.Duration
	answer string // of refuse: without the first byte
	unless string // with this at its beginning a reply is not meant: it passes, and the next match counts in its place
}

type actionKind int

const (
	pass actionKind = iota
	dropReply
	halfReply
	splitReply
	closeAfter
	resetAfter
	holdReply
	closeBefore
	dropRequest
	hold
	delay
	refuse
	replace
)

var (
	DropReply   = Action{kind: dropReply}   // executed; neither its reply nor anything after it reaches the client
	HalfReply   = Action{kind: halfReply}   // executed; half of its reply reaches the client, and nothing after it
	SplitReply  = Action{kind: splitReply}  // executed; its reply reaches the client in packets of one byte
	CloseAfter  = Action{kind: closeAfter}  // executed; in place of its reply the connection is closed (FIN)
	ResetAfter  = Action{kind: resetAfter}  // executed; in place of its reply the connection is reset (RST)
	HoldReply   = Action{kind: holdReply}   // executed; its reply and those behind it wait for Release
	CloseBefore = Action{kind: closeBefore} // not executed; the connection is closed once earlier replies are through
	DropRequest = Action{kind: dropRequest} // not executed, nor anything after it; the connection stays open
	Hold        = Action{kind: hold}        // it and the requests behind it wait for Release, also when the client goes
)

// Delay lets the request, and with it those behind it, reach the server d later, also when the client has gone by then.
func Delay(d time.Duration) Action { return Action{kind: delay, delay: d} }

// LoseReply is CloseAfter for a command that was executed. That a script is not known (NOSCRIPT) says that it was not: this reply
// passes, and the rule waits for the next command.
var LoseReply = Action{kind: closeAfter, unless: "-NOSCRIPT"}

// Refuse answers an error in place of the server, which does not get the command. text is one line, with the code in front.
func Refuse(text string) Action { return Action{kind: refuse, answer: text} }

// Replace answers an error in place of the server, which has executed the command: so do proxies that lose the server's reply. As with
// LoseReply, a NOSCRIPT passes. text is one line, with the code in front.
func Replace(text string) Action { return Action{kind: replace, answer: text, unless: "-NOSCRIPT"} }

// A Rule applies one action to the commands it matches.
type Rule struct {
	proxy    *Proxy
	match    func(Command) bool
	action   Action
	released chan struct{} // closed by Release
	release  sync.Once

	// Guarded by proxy.mu.
	left     int // how many more it takes; negative for all
	hits     int
	executed int
}

// On adds a rule for the next times commands that match accepts, or for all of them when times is 0. A nil match
// accepts everything, connection set-up included. Of several rules for a command only the first added applies.
// match is called with the proxy locked: it must not call it.
func (p *Proxy) On(match func(Command) bool, times int, action Action) *Rule {
	if times == 0 {
		times = -1
	}
	r := &Rule{proxy: p, match: match, action: action, left: times, released: make(chan struct{})}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rules = append(p.rules, r)
	return r
}

// Release lets go of everything that the rule holds, and of what it would hold from now on.
func (r *Rule) Release() { r.release.Do(func() { close(r.released) }) }

// Remove ends the rule for commands yet to come. What it holds stays held until Release.
func (r *Rule) Remove() {
	r.proxy.mu.Lock()
	defer r.proxy.mu.Unlock()
	r.left = 0
}

// Hits is how many commands the rule was applied to: read from a client, not necessarily sent on.
func (r *Rule) Hits() int {
	r.proxy.mu.Lock()
	defer r.proxy.mu.Unlock()
	return r.hits
}

// Executed is how many of the hits the server has answered, whether or not the client learned it.
func (r *Rule) Executed() int {
	r.proxy.mu.Lock()
	defer r.proxy.mu.Unlock()
	return r.executed
}

// meet counts a command and returns the rule that applies to it, or nil.
func (p *Proxy) meet(c Command) *Rule {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen[c.Name]++
	for _, r := range p.rules {
		if r.left != 0 && (r.match == nil || r.match(c)) {
			r.left--
			r.hits++
			return r
		}
	}
	return nil
}

// answered counts a command whose reply has come from the server, and tells whether the rule of the command is meant by it.
func (p *Proxy) answered(c Command, r *Rule, reply []byte) (meant bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.executed[c.Name]++
	if r == nil {
		return false
	}
	if unless := r.action.unless; unless != "" && bytes.HasPrefix(reply, []byte(unless)) {
		r.left++
		r.hits--
		return false
	}
	r.executed++
	return true
}

// Seen is how often clients sent a command. The name is written in any case.
func (p *Proxy) Seen(name string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen[strings.ToUpper(name)]
}

// Executed is how often the server answered a command, with an error or not, whether or not the client learned it.
func (p *Proxy) Executed(name string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.executed[strings.ToUpper(name)]
}
