package scripting

import (
	"bufio"
	"fmt"

	"github.com/alicebob/miniredis/v2/server"
	lua "github.com/yuin/gopher-lua"
)

// call is redis.call: an error of the server ends the script.
func (i *interpreter) call(l *lua.LState) int {
	answer, err := i.ask(l)
	if err != nil {
		i.refusal = err.Error()
		l.RaiseError("%s", i.refusal)
	}
	l.Push(answer)
	return 1
}

// pcall is redis.pcall: an error of the server is an answer.
func (i *interpreter) pcall(l *lua.LState) int {
	answer, err := i.ask(l)
	if err != nil {
		answer = one("err", err.Error())
	}
	l.Push(answer)
	return 1
}

// ask has the server execute a command of the script.
func (i *interpreter) ask(l *lua.LState) (lua.LValue, error) {
	args := make([]string, l.GetTop())
	for n := range args {
		switch a := l.Get(n + 1).(type) {
		case lua.LString, lua.LNumber:
			args[n] = a.String()
		default:
			l.ArgError(n+1, "a command has strings and numbers")
		}
	}
	if len(args) == 0 {
		l.RaiseError("a command has a name")
	}
	i.answers.Reset()
	i.srv.Dispatch(i.script, args)
	i.script.Flush()
	answer, err := server.ParseReply(bufio.NewReader(&i.answers))
	if err != nil {
		return nil, err
	}
	return toLua(l, answer), nil
}

// reply makes a function that turns a text into an answer of its own kind.
func reply(field string) lua.LGFunction {
	return func(l *lua.LState) int {
		l.Push(one(field, l.CheckString(1)))
		return 1
	}
}

func one(field, text string) *lua.LTable {
	t := &lua.LTable{}
	t.RawSetString(field, lua.LString(text))
	return t
}

// toLua is what a script gets to see of an answer.
func toLua(l *lua.LState, answer any) lua.LValue {
	switch a := answer.(type) {
	case nil:
		return lua.LFalse
	case int:
		return lua.LNumber(a)
	case string:
		return lua.LString(a)
	case server.Simple:
		return one("ok", string(a))
	case []any:
		t := l.CreateTable(len(a), 0)
		for n, element := range a {
			t.RawSetInt(n+1, toLua(l, element))
		}
		return t
	default:
		panic(fmt.Sprintf("an answer of the type %T", answer))
	}
}

// write answers a client with what a script has returned.
func write(p *server.Peer, value lua.LValue) {
	switch v := value.(type) {
	case lua.LBool:
		if v {
			p.WriteInt(1)
		} else {
			p.WriteNull()
		}
	case lua.LNumber:
		p.WriteInt(int(v))
	case lua.LString:
		p.WriteBulk(string(v))
	case *lua.LTable:
		if text, ok := v.RawGetString("err").(lua.LString); ok {
			p.WriteError(string(text))
			return
		}
		if text, ok := v.RawGetString("ok").(lua.LString); ok {
			p.WriteInline(string(text))
			return
		}
		n := 0
		for v.RawGetInt(n+1) != lua.LNil {
			n++
		}
		p.WriteLen(n)
		for k := range n {
			write(p, v.RawGetInt(k+1))
		}
	default:
		p.WriteNull()
	}
}
