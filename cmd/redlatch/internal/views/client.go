package views

import (
	"time"

	"github.com/redlatch/redlatch/cmd/redlatch/internal/terminal"
	"github.com/redlatch/redlatch/fleet"
)

// A Client is the redis client of a process, by its own words.
type Client struct {
	ID       string  `json:"id"`
	Who      string  `json:"who"` // for people
	Host     string  `json:"host"`
	PID      int     `json:"pid"`
	Program  string  `json:"program"`
	Label    string  `json:"label"`
	Instance string  `json:"instance"` // the same for all clients of a process
	Started  Time    `json:"started"`
	Seen     Time    `json:"seen"`
	LastSeen Seconds `json:"last_seen_seconds"`
	Silent   bool    `json:"silent"` // for so long that the process is probably dead
	Ended    bool    `json:"ended"`  // it has ended, and has left what it holds to its leases

	Language string `json:"language"`
	Library  string `json:"library"`
	Runtime  string `json:"runtime"`
	Driver   string `json:"driver"`
}

func newClient(c *fleet.Client) Client {
	return Client{
		ID: c.ID, Who: c.String(), Host: c.Host, PID: c.PID, Program: c.Program, Label: c.Label, Instance: c.Instance, Started: Time(c.Started),
		Seen: Time(c.Seen), LastSeen: known(c.LastSeen), Silent: c.Silent(), Ended: c.Ended,
		Language: c.Language, Library: c.Library, Runtime: c.Runtime, Driver: c.Driver,
	}
}

// A Party is somebody who holds or waits: a client, which the clients of the document have more of if it has an entry.
type Party struct {
	ClientID string `json:"client_id"`
	Who      string `json:"who"`
	Known    bool   `json:"known"` // has an entry in the registry
	Silent   bool   `json:"silent"`
	Ended    bool   `json:"ended"`

	host     string
	lastSeen time.Duration
	hears    bool // it can be asked to give back
	kept     bool // it has given back what it is a party to, and WithAtLeast keeps that
}

func newParty(c *fleet.Client, id, who string) Party {
	p := Party{ClientID: id, Who: who}
	if c != nil {
		p.ClientID, p.Known, p.Silent, p.Ended, p.host, p.lastSeen, p.hears = c.ID, true, c.Silent(), c.Ended, c.Host, c.LastSeen, c.Askable && !c.Ended
	}
	return p
}

func (p Party) who() string { return terminal.Clean(p.Who) }

// death is what is said of one that is silent, or has ended.
func (p Party) death() string {
	switch {
	case p.Ended:
		return "kept by WithAtLeast, its program has ended"
	case p.kept:
		return "kept by WithAtLeast, its program has given it back"
	case !p.Silent:
		return ""
	}
	return "last seen " + Age(p.lastSeen) + " ago, probably dead"
}
