"""A checkout agent whose card payments seem to fail at random, and what is really wrong.

In step 7 the payment is refused; the agent tries twice more and tells the customer that the card has no money left. The
card is fine. The pricing service counts in cents, and step 6 took its number for euros: the amount in the state after
step 6 is a hundred times too high. With the right amount there (`payment.amount`), the payment goes through.

Run it: `python flaky_checkout.py`.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import agent_tt
from sample_model import Answer, Message, ask_for, hosted, requested, say, takes, tool_message

if TYPE_CHECKING:
    from collections.abc import Callable

State = dict[str, Any]

MODEL = {"model": "rules-1", "temperature": 0.0, "max_tokens": 150, "prompt_version": "checkout-2"}

CATALOGUE: dict[str, dict[str, Any]] = {
    "lamp-07": {"title": "Desk lamp, brass", "cents": 5_950, "grams": 1_400, "stock": 12},
    "bulb-e27": {"title": "Warm bulb, E27", "cents": 690, "grams": 80, "stock": 240},
}
VOUCHERS = {"SPRING10": 10}
CARD_LIMITS_IN_EUROS = {"card_8802": 1500}
FIRST_WAIT_SECONDS = 5.0


class PaymentError(Exception):
    """The bank said no.

    Attributes:
        code: the bank's reason.
    """

    def __init__(self, code: str, request_id: str) -> None:
        super().__init__(code, request_id)
        self.code = code

    def __str__(self) -> str:
        return "402 {}: the bank refused the payment (request {})".format(*self.args)


@agent_tt.tool(effect="read")
def load_cart(cart_id: str) -> list[dict[str, Any]]:
    """The lines of a cart."""
    takes(0.08, 0.15)
    return [{"cart": cart_id, "sku": "lamp-07", "count": 2}, {"cart": cart_id, "sku": "bulb-e27", "count": 4}]


@agent_tt.tool(effect="read")
def check_stock(skus: list[str]) -> dict[str, int]:
    """How many of each article there are."""
    takes(0.1, 0.3)
    return {sku: CATALOGUE[sku]["stock"] for sku in skus}


@agent_tt.tool(effect="read")
def find_customer(cart_id: str) -> dict[str, Any]:
    """Who a cart belongs to, and how they pay."""
    takes(0.08, 0.2)
    return {"cart": cart_id, "name": "Jonas Weber", "country": "DE", "card": "card_8802"}


@agent_tt.tool(effect="read")
def quote_shipping(grams: int, country: str) -> dict[str, Any]:
    """What a parcel costs."""
    takes(0.2, 0.4)
    return {"country": country, "cents": 490 if grams < 5_000 else 990}


@agent_tt.tool(effect="read")
def check_voucher(code: str) -> dict[str, Any]:
    """What a voucher is worth."""
    takes(0.1, 0.2)
    return {"code": code, "percent": VOUCHERS.get(code, 0)}


@agent_tt.tool(effect="read")
def price_order(lines: list[dict[str, Any]], shipping_cents: int, percent_off: int) -> dict[str, Any]:
    """What an order costs in all, in cents."""
    takes(0.15, 0.3)
    goods = sum(_article(line)["cents"] * line["count"] for line in lines)
    return {"total": goods - goods * percent_off // 100 + shipping_cents, "unit": "cent"}


@agent_tt.tool(effect="write")
def charge_card(card: str, amount: float) -> dict[str, Any]:
    """Take euros from a card.

    Raises:
        PaymentError: the card cannot pay that much.
    """
    takes(1.2, 2.0)
    if amount > CARD_LIMITS_IN_EUROS[card]:
        raise PaymentError("insufficient_funds", "rq_5512")
    return {"card": card, "amount": amount, "receipt": "rc_20931"}


@agent_tt.tool(effect="write")
def place_order(cart_id: str, receipt: str) -> dict[str, Any]:
    """Hand a paid cart to the warehouse."""
    takes(0.4, 0.8)
    return {"order": f"{cart_id}-1", "receipt": receipt, "arrives_in_days": 3}


TOOLS: dict[str, Callable[..., Any]] = {
    tool.__name__: tool
    for tool in (
        load_cart,
        check_stock,
        find_customer,
        quote_shipping,
        check_voucher,
        price_order,
        charge_card,
        place_order,
    )
}


@agent_tt.llm(model="rules-1")
@hosted
def checkout_model(messages: list[Message], task: str, cart: dict[str, Any], payment: dict[str, Any]) -> Answer:
    """The policy: the tool that does this task, with its arguments from what is known; or what to tell the customer."""
    lines = cart.get("lines", [])
    match task:
        case "load cart":
            return ask_for(messages, "load_cart", cart_id=cart["id"])
        case "check stock":
            return ask_for(messages, "check_stock", skus=[line["sku"] for line in lines])
        case "find customer":
            return ask_for(messages, "find_customer", cart_id=cart["id"])
        case "quote shipping":
            grams = sum(_article(line)["grams"] * line["count"] for line in lines)
            return ask_for(messages, "quote_shipping", grams=grams, country=cart["customer"]["country"])
        case "check voucher":
            return ask_for(messages, "check_voucher", code=cart["voucher"])
        case "price order":
            shipping, off = cart["shipping"]["cents"], cart["discount"]["percent"]
            return ask_for(messages, "price_order", lines=lines, shipping_cents=shipping, percent_off=off)
        case "charge card":
            return ask_for(messages, "charge_card", card=payment["card"], amount=payment["amount"])
        case "place order":
            return ask_for(messages, "place_order", cart_id=cart["id"], receipt=payment["receipt"])
        case _:
            return say(messages, closing_words(cart, payment))


def main(state: State | None = None) -> State:
    """Take one cart through the checkout."""
    state = state or new_checkout()
    with agent_tt.record("flaky-checkout", state=state, model=MODEL, version="1") as run:
        while state["answer"] is None:
            task = next_task(state)
            if task == "charge card":
                back_off(state["payment"]["refusals"])
            # A refused payment is a failed step and not the end: the next turn tries again.
            with suppress(PaymentError), run.step(task, state) as step:
                answer = checkout_model(state["messages"], task, state["cart"], state["payment"])
                state["messages"].append(answer["message"])
                request = requested(answer)
                if request is None:
                    step.decision = "answer"
                    state["answer"] = answer["message"]["content"]
                    continue
                tool, arguments = request
                step.decision = tool
                try:
                    result = TOOLS[tool](**arguments)
                except PaymentError as refusal:
                    state["payment"]["refusals"].append(refusal.code)
                    state["messages"].append(tool_message(answer, {"error": str(refusal)}))
                    raise
                keep(state, task, result)
                state["messages"].append(tool_message(answer, result))
    return state


def back_off(refusals: list[str]) -> None:
    """Wait before a payment is tried again, each time for twice as long: the bank may be busy."""
    if refusals:
        takes(FIRST_WAIT_SECONDS * 2 ** (len(refusals) - 1))


def next_task(state: State) -> str:
    """What comes next in a checkout, given what is done."""
    cart, payment = state["cart"], state["payment"]
    done = {
        "load cart": "lines" in cart,
        "check stock": "stock" in cart,
        "find customer": "customer" in cart,
        "quote shipping": "shipping" in cart,
        "check voucher": "discount" in cart,
        "price order": payment["amount"] is not None,
        "charge card": payment["receipt"] is not None or len(payment["refusals"]) >= payment["tries"],
        "place order": "order" in cart or payment["receipt"] is None,
    }
    return next((task for task, is_done in done.items() if not is_done), "answer")


def keep(state: State, task: str, result: Any) -> None:
    """Put what a tool came back with where the next tasks look for it."""
    cart, payment = state["cart"], state["payment"]
    match task:
        case "load cart":
            cart["lines"] = result
        case "check stock":
            cart["stock"] = result
        case "find customer":
            cart["customer"] = result
            payment["card"] = result["card"]
        case "quote shipping":
            cart["shipping"] = result
        case "check voucher":
            cart["discount"] = result
        case "price order":
            # The mistake that this sample is about: the service says cents, the payment wants euros.
            payment["amount"] = result["total"]
        case "charge card":
            payment["receipt"] = result["receipt"]
        case "place order":
            cart["order"] = result["order"]


def closing_words(cart: dict[str, Any], payment: dict[str, Any]) -> str:
    """What the customer is told in the end."""
    if "order" in cart:
        return f"Thank you! {payment['amount']} {payment['currency']} are paid, order {cart['order']} is on its way."
    return "Your bank refused the payment for lack of money. Please try again with another card."


def new_checkout() -> State:
    """What the agent starts from."""
    return {
        "messages": [
            {"role": "system", "content": "You take carts through the checkout of a lamp shop."},
            {"role": "user", "content": "Please check out my cart, with the voucher SPRING10."},
        ],
        "cart": {"id": "C-3391", "voucher": "SPRING10"},
        "payment": {
            "card": None,
            "amount": None,
            "currency": "EUR",
            "receipt": None,
            "refusals": [],
            "tries": 3,
        },
        "answer": None,
    }


def _article(line: dict[str, Any]) -> dict[str, Any]:
    return CATALOGUE[line["sku"]]


if __name__ == "__main__":
    main()
