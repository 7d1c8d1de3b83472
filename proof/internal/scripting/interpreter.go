// Package scripting runs the scripts of a server in memory in one Lua state for as long as the server lives. The server's
// own way, a new state for each call, is more than half of the time that a simulation takes.
package scripting

import (
	"bufio"
	"bytes"
	"crypto/sha1"
	"encoding/hex"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/alicebob/miniredis/v2/server"
	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/parse"
)

// An interpreter executes the commands of a server one at a time, and scripts in its own state.
type interpreter struct {
	srv *server.Server
	mu  sync.Mutex // held while a command of a client is executed

	// inside is the peer whose command the server itself is to execute: a client's, or that of the script that runs.
	inside atomic.Pointer[server.Peer]

	// Guarded by mu.
	state   *lua.LState
	scripts map[string]*lua.LFunction // by digest
	script  *server.Peer              // as whom scripts call the server
	answers bytes.Buffer              // what script is answered
	refusal string                    // what redis.call has raised, whole
}

// Serve has a server run its scripts in one Lua state. It is to be called before the first client comes.
func Serve(srv *server.Server) {
	i := &interpreter{srv: srv, scripts: map[string]*lua.LFunction{}}
	i.script = server.NewPeer(bufio.NewWriter(&i.answers))
	i.state = lua.NewState()
	redis := i.state.NewTable()
	for name, f := range map[string]lua.LGFunction{
		"call":         i.call,
		"pcall":        i.pcall,
		"error_reply":  reply("err"),
		"status_reply": reply("ok"),
	} {
		redis.RawSetString(name, i.state.NewFunction(f))
	}
	i.state.SetGlobal("redis", redis)
	srv.SetPreHook(i.execute)
}

// execute reports whether a command is done.
func (i *interpreter) execute(p *server.Peer, cmd string, args ...string) bool {
	if i.inside.Load() == p {
		return false
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	switch {
	case cmd == "EVALSHA" && len(args) >= 2:
		if f, known := i.scripts[args[0]]; known {
			i.run(p, args[0], f, args[1:])
		} else {
			p.WriteError("NOSCRIPT No matching script. Please use EVAL.")
		}
	case cmd == "EVAL" && len(args) >= 2:
		sum := sha1.Sum([]byte(args[0]))
		digest := hex.EncodeToString(sum[:])
		f, known := i.scripts[digest]
		if !known {
			proto, err := compile(args[0])
			if err != nil {
				p.WriteError("ERR Error compiling script: " + err.Error())
				return true
			}
			f = i.state.NewFunctionFromProto(proto)
			i.scripts[digest] = f
		}
		i.run(p, digest, f, args[1:])
	default:
		if cmd == "SCRIPT" && len(args) > 0 && strings.EqualFold(args[0], "flush") {
			clear(i.scripts)
		}
		i.within(p, func() { i.srv.Dispatch(p, append([]string{cmd}, args...)) })
	}
	return true
}

// within has the server itself execute what a peer sends meanwhile.
func (i *interpreter) within(p *server.Peer, do func()) {
	i.inside.Store(p)
	defer i.inside.Store(nil)
	do()
}

// run executes a script and writes its answer.
func (i *interpreter) run(p *server.Peer, digest string, f *lua.LFunction, args []string) {
	keys, err := strconv.Atoi(args[0])
	if err != nil || keys < 0 || keys > len(args)-1 {
		p.WriteError("ERR Number of keys can't be greater than number of args")
		return
	}
	i.state.SetGlobal("KEYS", i.list(args[1:1+keys]))
	i.state.SetGlobal("ARGV", i.list(args[1+keys:]))
	i.refusal = ""
	i.within(i.script, func() {
		i.state.Push(f)
		err = i.state.PCall(0, 1, nil)
	})
	switch {
	case err != nil && i.refusal != "":
		p.WriteError(i.refusal + " script: " + digest)
	case err != nil:
		p.WriteError("ERR " + strings.ReplaceAll(err.Error(), "\n", " ") + " script: " + digest)
	default:
		write(p, i.state.Get(-1))
		i.state.Pop(1)
	}
}

func (i *interpreter) list(of []string) *lua.LTable {
	t := i.state.CreateTable(len(of), 0)
	for _, s := range of {
		t.Append(lua.LString(s))
	}
	return t
}

// compiled has the scripts of all servers of this process, which never change.
var compiled sync.Map

func compile(script string) (*lua.FunctionProto, error) {
	if proto, ok := compiled.Load(script); ok {
		return proto.(*lua.FunctionProto), nil
	}
	chunk, err := parse.Parse(strings.NewReader(script), "script")
	if err != nil {
		return nil, err
	}
	proto, err := lua.Compile(chunk, "script")
	if err != nil {
		return nil, err
	}
	compiled.Store(script, proto)
	return proto, nil
}
