"""What an answer looks like that declines, hedges, talks about its context, or thinks aloud.

All of them are case-insensitive regular expressions over text with white space folded and apostrophes made straight.
This file is the one place to add to; every entry is exercised in tests/generation/test_patterns.py.
"""

from __future__ import annotations

_SOURCE = (
    r"(?:context|handbook|manual|documentation|documents?|information|texts?|sources?|materials?|passages?|excerpts?|"
    r"knowledge base|records?|data|sheets?|corpus)"
)
_FACT = (
    r"(?:information|answers?|details?|data|mention|references?|knowledge|anything (?:about|on|that|which|in|like)|"
    r"specifics|context|guidance|instructions?|records?)"
)
_NOT = r"(?:do not|don't|did not|didn't|does not|doesn't)"
_UNABLE = (
    r"(?:cannot|can't|can not|could not|couldn't|am unable to|'m unable to|am not able to|'m not able to|was unable to|"
    r"was not able to|wasn't able to|won't be able to|will not be able to)"
)
_FEW = r"(?:[\w'’-]+ ){0,3}?"

DECLINES: tuple[str, ...] = (
    # I do not know; we don't have enough information
    rf"\b(?:I|we) {_NOT} (?:really |actually |currently |honestly )?know\b(?! of\b)(?! how to say)",
    rf"\b(?:I|we) {_NOT} {_FEW}have {_FEW}{_FACT}\b",
    rf"\b(?:I|we) have no {_FEW}{_FACT}\b",
    r"\b(?:I|we) have no (?:idea|way of knowing)\b",
    # I cannot answer; I was unable to find any information
    rf"\b(?:I|we) ?{_UNABLE} (?:really |confidently |directly )?(?:answer|say|tell|determine|help (?:you )?with|assist|"
    r"confirm|comment|give an answer|provide an answer|respond)\b",
    rf"\b(?:I|we) ?{_UNABLE} (?:find|see|locate|provide|give|offer|retrieve) {_FEW}{_FACT}\b",
    rf"\b(?:I|we) (?:{_NOT} (?:find|see)|found no|see no|find no) {_FEW}{_FACT}\b",
    # The context does not say
    rf"\b{_SOURCE} (?:(?:provided|given|available|above|I have|at hand) )?(?:{_NOT}|cannot|can't) (?:\w+ly )?"
    r"(?:contain|mention|include|provide|say|specify|state|cover|hold|answer|address|give|tell|discuss|describe|have|explain|list)",
    rf"\b{_SOURCE} (?:(?:provided|given|available|above) )?(?:has|have|contains?|says?|gives?|holds?|provides?|"
    r"includes?) (?:no|nothing)\b",
    rf"\bthere(?: is|'s| was| are| were)(?: no|n't any| not any) {_FEW}{_FACT}\b",
    rf"\bno {_FEW}{_FACT} (?:is|are|was|were) (?:available|given|provided|found|mentioned)\b",
    rf"\bnothing (?:\w+ )?(?:in|within) {_FEW}{_SOURCE}\b",
    r"\bnothing (?:is|was) (?:said|written|given|stated|mentioned) (?:about|of)\b",
    r"\bno [\w'’ -]{1,40}? (?:is|are|was|were) (?:stated|mentioned|recorded|specified)\b",
    rf"\b(?:no [\w'’ -]{{1,40}}? (?:is|are|was|were) given|there(?: is|'s| are) no [\w'’ -]{{1,60}}?) (?:in|by) "
    rf"{_FEW}{_SOURCE}\b",
    rf"(?:\bnot|n't) (?:mentioned|specified|stated|covered|discussed|addressed|given|described|included|provided|"
    rf"available|found) (?:anywhere )?(?:in|by|within) {_FEW}{_SOURCE}\b",
    r"\b(?:is|are|was|were)(?: not|n't) (?:explicitly )?(?:mentioned|specified|stated)(?= ?[.!]|$)",
    rf"\bnot {_FEW}(?:enough|sufficient) (?:information|data|details?|context)\b",
    r"\binsufficient (?:information|data|details?|context)\b",
    # Out of scope
    r"\b(?:outside|beyond) (?:of )?(?:my|the) (?:knowledge|scope|handbook|context|expertise)\b",
    r"^(?:unknown|n/a|no answer|not known|none)[.!]?$",
    r"^no context was given\b",
    r"^(?:sorry|i'm sorry|i am sorry|my apologies|unfortunately)[,.]? (?:but )?(?:I|we) (?:can't|cannot|can not|"
    r"couldn't|could not|don't|do not|am unable|'m unable)(?! find the | find a )",
)

# What makes a declining start an answer after all: a contrast, unless it only sends the reader elsewhere.
CONTRASTS: tuple[str, ...] = (
    r"\b(?:but|however|nevertheless|nonetheless|although|that said|still|yet|"
    r"based on (?:general|common|my|what I))\b",
)
REDIRECTS: tuple[str, ...] = (
    r"\b(?:ask|consult|contact|check with|refer to|look (?:it )?up|get in touch|reach out|seek|speak to|talk to)\b",
    r"\b(?:happy|glad) to help\b",
    r"\b(?:if you|can you|could you|please|feel free|let me know|would you)\b",
    r"\b(?:I|we) (?:can|could) (?:help|tell you about|assist)\b",
)

HEDGES: tuple[str, ...] = (
    r"\b(?:I'm|I am|we're|we are) not (?:entirely |completely |quite |totally |100% |absolutely |really |so )?"
    r"(?:sure|certain|positive|confident)\b",
    rf"\b(?:I|we) ?{_UNABLE} be (?:entirely |completely |absolutely )?(?:sure|certain)\b",
    r"\b(?:I|we) (?:may|might|could) be (?:wrong|mistaken)\b",
    r"\b(?:I|we) (?:would|'d) (?:only )?(?:be )?guess(?:ing)?\b",
    r"\bmy best guess\b",
    r"\bit(?: is|'s) (?:unclear|not clear|hard to say|difficult to say|impossible to say)\b",
    r"\btake this with (?:a grain|caution)\b",
    r"\b(?:please )?verify (?:this|it) (?:with|before|yourself)\b",
    r"\bI (?:think|believe) it (?:might|may|could)\b",
)

LEAKS: tuple[str, ...] = (
    r"\b(?:the|this|that|your|my) (?:\w+ )?context\b(?! of\b)",
    r"\b(?:provided|given|supplied|retrieved|above) (?:context|documents?|passages?|excerpts?|texts?|information|"
    r"sources?|snippets?)\b",
    r"\b(?:context|documents?|passages?|excerpts?|texts?|information|sources?|snippets?) (?:provided|given|supplied|"
    r"retrieved|above)\b",
    r"\b(?:document|passage|excerpt|context|source|chunk|snippet) (?:#|no\.? ?|number )?\d+\b",
    r"\[(?:document|passage|source|context|doc)? ?\d+\]",
    r"\bknowledge base\b",
    r"\baccording to (?:the|your|these) (?:documents?|passages?|excerpts?|texts?|sources?|snippets?|search results)\b",
    r"\b(?:search|retrieval) results\b",
    r"\bretrieved (?:chunks?|documents?|passages?)\b",
)
# The echo of an empty context says so; it is no model that talks.
NO_LEAK: tuple[str, ...] = (r"^no context was given\.$",)

THINK_TAGS: tuple[str, ...] = (
    r"</?(?:think|thinking|thought|thoughts|reasoning|reflection|scratchpad|analysis)>",
    r"<\|(?:channel|start_of_thought|end_of_thought|begin_of_thought|thinking)\|>",
    r"\[/?THINK\]",
)
