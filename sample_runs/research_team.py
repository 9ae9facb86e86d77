"""Four agents that answer one question together: a lead, two researchers who work at the same time, and a critic.

The lead plans and hands out work. The web and the papers researcher search and read in tasks of their own, each with a
notebook of its own; the critic lists doubts meanwhile and checks the claims as soon as a researcher is done. The lead
weighs what is left and writes the report. One of the web pages never comes: the team waits for it, and copes.

Run it: `python research_team.py`.
"""

from __future__ import annotations

import asyncio
import re
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import agent_tt
from sample_model import Answer, Message, ask_for, hosted, requested, say, takes_beside, tool_message

if TYPE_CHECKING:
    from agent_tt.recording.recorder import Recording

State = dict[str, Any]
Notebook = dict[str, Any]
Claim = dict[str, Any]

MODEL = {"model": "rules-1", "temperature": 0.0, "max_tokens": 400, "prompt_version": "team-4"}

MOST_SOURCES = 3
MOST_SECONDS = 15
"""How long a page is waited for."""


@dataclass(frozen=True, slots=True)
class Source:
    """A text that can be found: None where its server does not answer, which else takes so many seconds."""

    title: str
    words: str
    text: str | None
    seconds: float = 0.3


WEB = {
    "energy-advice.example/heat-pumps": Source(
        "Heat pumps in old houses",
        "heat pump old house cost saving",
        "A heat pump needs a flow temperature of at most 55 °C. Most houses reach it with 3 to 5 larger radiators. "
        "The gas boiler can stay as a reserve.",
    ),
    "heatpump-shop.example/offers": Source(
        "Our heat pump offers",
        "heat pump cost offer",
        "Our heat pump always pays for itself. Order this week.",
        seconds=0.9,
    ),
    "owners-forum.example/t/1974": Source("Heat pump in our house of 1974", "heat pump old house", None),
    "energy-advice.example/solar": Source(
        "Solar panels on small roofs",
        "solar panel roof cost saving",
        "A roof of 30 square metres carries panels for 6 kW. Solar panels cost about 1,300 euros per kW.",
    ),
}

PAPERS = {
    "field-2023-114": Source(
        "Seasonal performance of 120 retrofitted heat pumps",
        "heat pump old house field trial",
        "Over two winters 120 heat pumps in houses built before 1980 reached a seasonal performance of 3.1. "
        "Poor control, not poor walls, explained most of the spread.",
    ),
    "econ-2024-027": Source(
        "Running costs of heat pumps and gas boilers",
        "heat pump cost saving gas",
        "Above a performance of 2.8 a heat pump costs less to run than a gas boiler at prices of 2024.",
    ),
    "pv-2022-081": Source(
        "Yield of small solar roofs",
        "solar panel roof yield",
        "Solar roofs in the north yield 900 kWh per kW a year in the median.",
    ),
}


@agent_tt.tool(effect="read")
async def web_search(words: list[str]) -> list[str]:
    """Addresses of pages that fit the words, best first."""
    await takes_beside(0.08, 0.3)
    return best_matches(WEB, words)


@agent_tt.tool(effect="read")
async def read_page(address: str) -> str:
    """The text of a page.

    Raises:
        TimeoutError: its server does not answer.
    """
    page = WEB[address]
    await takes_beside(MOST_SECONDS if page.text is None else page.seconds)
    if page.text is None:
        raise TimeoutError(f"no answer within {MOST_SECONDS} s: {address}")
    return page.text


@agent_tt.tool(effect="read")
async def paper_search(words: list[str]) -> list[str]:
    """Ids of papers that fit the words, best first."""
    await takes_beside(0.3, 0.4)
    return best_matches(PAPERS, words)


@agent_tt.tool(effect="read")
async def read_abstract(paper: str) -> str:
    """The abstract of a paper."""
    await takes_beside(0.15, 0.4)
    return PAPERS[paper].text or ""


@agent_tt.llm(model="rules-1")
@hosted
async def lead_model(messages: list[Message], task: str, claims: list[Claim]) -> Answer:
    """The lead's policy: name the words to look for, weigh claims against objections, or write the report."""
    question = messages[-1]["content"]
    match task:
        case "plan":
            return say(messages, " ".join(subject_words(question)))
        case "weigh":
            kept = [claim["source"] for claim in claims if not claim["objection"]]
            return say([messages, claims], " ".join(kept))
        case _:
            body = " ".join(f"{claim['text']} [{claim['source']}]" for claim in claims)
            return say([messages, claims], body or "Nothing that we found stands up to a check.")


@agent_tt.llm(model="rules-1")
@hosted
async def search_model(messages: list[Message], tool: str, words: list[str]) -> Answer:
    """A researcher's policy: turn the words of the plan into a search."""
    return ask_for(messages, tool, words=words)


@agent_tt.llm(model="rules-1")
@hosted
async def reader_model(text: str, words: list[str]) -> Answer:
    """A researcher's policy: the one sentence of a text that says most about the words, figures counting double."""

    def worth(sentence: str) -> int:
        lower = sentence.lower()
        return sum(word in lower for word in words) + 2 * bool(re.search(r"\d", sentence))

    return say(text, max(re.split(r"(?<=\.)\s+", text), key=worth))


@agent_tt.llm(model="rules-1")
@hosted
async def critic_model(claims: list[Claim], doubts: list[str]) -> Answer:
    """The critic's policy: the doubts to have in mind, or the sources of the claims that they apply to."""
    if not doubts:
        return say(claims, "sells what it praises; says no figure")
    doubtful = [claim["source"] for claim in claims if "shop" in claim["source"] or not re.search(r"\d", claim["text"])]
    return say([claims, doubts], " ".join(doubtful))


async def main(state: State | None = None) -> State:
    """Answer one question as a team."""
    state = state or new_question()
    messages = state["messages"]
    with agent_tt.record("research-team", state=state, model=MODEL, version="4") as run:
        if not state["plan"]:
            with run.step("plan", state, agent="lead") as step:
                answer = await lead_model(messages, "plan", [])
                state["plan"] = words_of(answer)
                step.decision = f"look for {', '.join(state['plan'])}"
        if not state["notebooks"]:
            with run.step("research", state, agent="lead") as step:
                state["notebooks"] = await research(run, state["plan"])
                step.decision = "two researchers and a critic at once"
        if not state["kept"]:
            with run.step("weigh", state, agent="lead") as step:
                claims = all_claims(state["notebooks"])
                sources = words_of(await lead_model(messages, "weigh", claims))
                state["kept"] = [claim for claim in claims if claim["source"] in sources]
                step.decision = f"keep {len(state['kept'])} of {len(claims)} claims"
        if state["report"] is None:
            with run.step("write report", state, agent="lead") as step:
                answer = await lead_model(messages, "report", state["kept"])
                messages.append(answer["message"])
                state["report"] = answer["message"]["content"]
                step.decision = "done"
    return state


async def research(run: Recording, plan: list[str]) -> dict[str, Notebook]:
    """Let the researchers and the critic work at the same time; give their notebooks by agent."""
    async with asyncio.TaskGroup() as team:
        web = team.create_task(search_the_web(run, plan))
        papers = team.create_task(search_papers(run, plan))
        critic = team.create_task(criticise(run, {"web": web, "papers": papers}))
    return {"web": web.result(), "papers": papers.result(), "critic": critic.result()}


async def search_the_web(run: Recording, plan: list[str]) -> Notebook:
    """The web researcher: one search, then all its pages at once."""
    notebook = new_notebook(plan)
    with run.step("search the web", notebook, agent="web") as step:
        answer = await search_model(notebook["messages"], "web_search", plan)
        _, arguments = requested(answer) or ("", {})
        found = await web_search(**arguments)
        notebook["messages"] += [answer["message"], tool_message(answer, found)]
        step.decision = f"{len(found)} pages"

    async def read(address: str) -> None:
        site = address.partition("/")[0]
        with suppress(TimeoutError), run.step(f"read {site}", notebook, agent="web") as step:
            text = await read_page(address)
            answer = await reader_model(text, plan)
            note_claim(notebook, answer, address)
            step.decision = answer["message"]["content"]

    with run.step("read the pages", notebook, agent="web"):
        await asyncio.gather(*(read(address) for address in found))
    return notebook


async def search_papers(run: Recording, plan: list[str]) -> Notebook:
    """The papers researcher: one search, then one abstract after the other."""
    notebook = new_notebook(plan)
    with run.step("search papers", notebook, agent="papers") as step:
        answer = await search_model(notebook["messages"], "paper_search", plan)
        _, arguments = requested(answer) or ("", {})
        found = await paper_search(**arguments)
        notebook["messages"] += [answer["message"], tool_message(answer, found)]
        step.decision = f"{len(found)} papers"
    for paper in found:
        with run.step(f"read {paper}", notebook, agent="papers") as step:
            text = await read_abstract(paper)
            answer = await reader_model(text, plan)
            note_claim(notebook, answer, paper)
            step.decision = answer["message"]["content"]
    return notebook


async def criticise(run: Recording, researchers: dict[str, asyncio.Task[Notebook]]) -> Notebook:
    """The critic: list doubts first, then hold every claim of each researcher against them."""
    notebook: Notebook = {"doubts": [], "objections": []}
    with run.step("list doubts", notebook, agent="critic") as step:
        answer = await critic_model([], [])
        notebook["doubts"] = answer["message"]["content"].split("; ")
        step.decision = f"{len(notebook['doubts'])} doubts to check claims against"
    for name, researcher in researchers.items():
        claims = (await researcher)["claims"]
        with run.step(f"check {name}", notebook, agent="critic") as step:
            doubtful = words_of(await critic_model(claims, notebook["doubts"]))
            notebook["objections"] += doubtful
            step.decision = f"{len(doubtful)} of {len(claims)} claims are doubtful"
    return notebook


def all_claims(notebooks: dict[str, Notebook]) -> list[Claim]:
    """The claims of all researchers, each with whether the critic objects to it."""
    objections = notebooks["critic"]["objections"]
    claims = [*notebooks["web"]["claims"], *notebooks["papers"]["claims"]]
    return [{**claim, "objection": claim["source"] in objections} for claim in claims]


def note_claim(notebook: Notebook, answer: Answer, source: str) -> None:
    """Write down what a source says."""
    notebook["claims"].append({"text": answer["message"]["content"], "source": source})


def new_notebook(plan: list[str]) -> Notebook:
    """An empty notebook of a researcher."""
    return {"messages": [{"role": "user", "content": f"Find sources on: {' '.join(plan)}"}], "claims": []}


def new_question() -> State:
    """What the team starts from."""
    return {
        "messages": [
            {"role": "system", "content": "You lead a small research team. Report only what stands up to a check."},
            {"role": "user", "content": "Does a heat pump make sense in our old house?"},
        ],
        "plan": [],
        "notebooks": {},
        "kept": [],
        "report": None,
    }


def best_matches(sources: dict[str, Source], words: list[str]) -> list[str]:
    """Keys of the sources that share at least two words, best first."""
    scores = {key: len(set(words) & set(source.words.split())) for key, source in sources.items()}
    return [key for key in sorted(scores, key=lambda key: -scores[key]) if scores[key] >= 2][:MOST_SOURCES]


def subject_words(question: str) -> list[str]:
    """The words of a question that some source is about."""
    known = {word for source in (*WEB.values(), *PAPERS.values()) for word in source.words.split()}
    return [word for word in re.findall(r"\w+", question.lower()) if word in known]


def words_of(answer: Answer) -> list[str]:
    """The words that a model said."""
    return str(answer["message"]["content"]).split()


if __name__ == "__main__":
    asyncio.run(main())
